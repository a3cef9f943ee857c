function fail(reason: string): never {
  throw new Error(reason);
}

fail("nobody catches this");
