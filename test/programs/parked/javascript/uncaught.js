process.on("exit", (code) => console.log("exit", code));
function inner() {
  throw new TypeError("inner", { cause: new Error("cause") });
}
setTimeout(() => inner(), 5);
console.log("first");
