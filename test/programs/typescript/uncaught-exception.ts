function fail(reason: string): never {
  throw new Error(reason);
}

fail("an uncaught exception");
