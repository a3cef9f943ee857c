/**
 * What the browser keeps for the signed-in person: the draft of the playground, over a reload and the end of the session. It
 * is in the storage of the tab and has its owner, so that the next person in the same browser never gets it.
 */

/** Key in the storage of all tabs. Its value is the id of the signed-in person; it has none after a sign-out. */
const SIGNED_IN = "assay-signed-in";
const DRAFT = "assay-draft";

interface StoredDraft {
  readonly owner: string;
  readonly value: unknown;
}

/** The person of this document. */
let owner: string | null = null;

/** A session of this person exists. */
export function signedIn(id: string): void {
  owner = id;
  localStorage.setItem(SIGNED_IN, id);
  if (read()?.owner !== id) sessionStorage.removeItem(DRAFT);
}

/** The person signed out. */
export function signedOut(): void {
  owner = null;
  localStorage.removeItem(SIGNED_IN);
  sessionStorage.removeItem(DRAFT);
}

/** Whether a session ended without a sign-out. */
export function hasSessionExpired(): boolean {
  return localStorage.getItem(SIGNED_IN) !== null;
}

/** @returns the draft that this person stored last. */
export function storedDraft(): unknown {
  const last = read();
  return last && last.owner === owner ? last.value : undefined;
}

/** @returns false, with nothing stored, if it is larger than the browser's limit. */
export function storeDraft(value: unknown): boolean {
  if (owner === null) return true; // after the sign-out
  try {
    sessionStorage.setItem(DRAFT, JSON.stringify({ owner, value } satisfies StoredDraft));
    return true;
  } catch {
    sessionStorage.removeItem(DRAFT);
    return false;
  }
}

function read(): StoredDraft | null {
  return JSON.parse(sessionStorage.getItem(DRAFT) ?? "null") as StoredDraft | null;
}

// Another tab signed out, or signed in another person, whose session this tab now has.
window.addEventListener("storage", ({ key, newValue }) => {
  if (key !== SIGNED_IN || owner === null || newValue === owner) return;
  owner = null;
  sessionStorage.removeItem(DRAFT);
  window.location.reload();
});
