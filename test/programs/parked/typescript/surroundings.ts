import * as fs from "fs";

enum Colour {
  Red,
  Green,
}

class Broken extends Error {}

const lines: string[] = fs.readFileSync(0, "utf8").split("\n");
console.log(Colour[1], lines, process.argv, process.execArgv, require.main === module);
throw new Broken("in line " + 12);
