function fail() {
  throw new Error("nobody catches this");
}

fail();
