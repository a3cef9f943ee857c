import { AdminError } from "./error.ts";

const LEAST_CHARACTERS = 12;
/** Longer ones cost only time. */
const MOST_BYTES = 1024;
const LEAST_DIFFERENT = 5;

/** What guessers try first, without the numbers and marks around it that make it long enough. */
const OBVIOUS = new Set(
  [
    ["password", "passwort", "passphrase", "kennwort", "contrasena", "motdepasse", "wachtwoord", "changeme"],
    ["changethis", "letmein", "letmeinplease", "welcome", "willkommen", "iloveyou", "administrator", "admin"],
    ["adminadmin", "rootroot", "superuser", "superman", "batman", "football", "baseball", "basketball", "princess"],
    ["sunshine", "dragon", "monkey", "qwerty", "qwertyuiop", "qwertz", "qwertzuiop", "azerty", "azertyuiop"],
    ["asdfghjkl", "qwertyuiopasdfghjkl", "qwertyuiopasdf", "zxcvbnm", "abcdefghijkl", "abcdefghijklmnopqrstuvwxyz"],
    ["correcthorsebatterystaple", "assay", "assayassay", "assayadmin", "assaypassword", "mypassword", "secret"],
    ["passwordpassword", "thisismypassword", "adminpassword", "trustno", "whatever", "default", "testtest", "test"],
  ].flat(),
);

const LOOKS_LIKE: Readonly<Record<string, string>> = {
  "0": "o",
  "1": "i",
  "3": "e",
  "4": "a",
  "5": "s",
  "@": "a",
  $: "s",
};

/** Rows of a keyboard, and counting: as one goes on, forwards or backwards. */
const RUNS = [
  "abcdefghijklmnopqrstuvwxyz",
  "01234567890123456789",
  "qwertyuiopasdfghjklzxcvbnm",
  "qwertzuiopasdfghjklyxcvbnm",
];

/**
 * Length is what counts; beside it, only what a guesser tries first is refused.
 * @throws AdminError saying what is wrong with it.
 */
export function checkPassword(password: string, person: { readonly email: string; readonly name: string }): void {
  const characters = [...password.normalize("NFC")];
  if (characters.length < LEAST_CHARACTERS) {
    throw new AdminError(`the password must have at least ${LEAST_CHARACTERS} characters; a few words are good`);
  }
  if (Buffer.byteLength(password) > MOST_BYTES) {
    throw new AdminError(`the password must have at most ${MOST_BYTES} bytes`);
  }
  const lower = characters.join("").toLowerCase();
  if (new Set(lower).size < LEAST_DIFFERENT || isObvious(lower)) {
    throw new AdminError("this password is one of those that are guessed first; take another");
  }
  if (isAbout(lower, person)) {
    throw new AdminError("the password must not be made of the e-mail or the name");
  }
}

function isObvious(lower: string): boolean {
  const word = lower.replace(/^\P{L}+|\P{L}+$/gu, "");
  const spellings = [lower, [...word].map((character) => LOOKS_LIKE[character] ?? character).join("")];
  if (spellings.some((spelling) => OBVIOUS.has(spelling.replaceAll(/\P{L}/gu, "")))) return true;
  return RUNS.some((run) => run.includes(lower) || [...run].reverse().join("").includes(lower));
}

/** Whether too little is left when what everybody knows of the person is taken away. */
function isAbout(lower: string, { email, name }: { readonly email: string; readonly name: string }): boolean {
  const known = [email, ...email.split(/[@.+_-]/), name, ...name.split(/\s+/)]
    .map((word) => word.toLowerCase())
    .filter((word) => word.length >= 4)
    .sort((a, b) => b.length - a.length);
  const left = known.reduce((text, word) => text.replaceAll(word, ""), lower);
  return left !== lower && left.length < LEAST_CHARACTERS / 2;
}
