function fail() {
  throw new Error("an uncaught exception");
}

fail();
