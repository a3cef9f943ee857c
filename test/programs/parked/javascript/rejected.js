Promise.reject(new RangeError("rejected"));
console.log("first");
