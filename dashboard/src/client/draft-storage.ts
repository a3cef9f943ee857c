/**
 * Keeps the draft of the playground when the page is reloaded or the session expires. The draft is in the storage of the tab,
 * with the id of the person who wrote it, so that the next person in the same browser never gets it.
 */

/**
 * Key in the local storage, which all tabs share. Its value is the id of the signed-in person; after a sign-out, it has no
 * value.
 */
const SIGNED_IN = "assay-signed-in";
const DRAFT = "assay-draft";

interface StoredDraft {
  readonly owner: string;
  readonly value: unknown;
}

/** The id of the person who was signed in when this document was loaded; null before a sign-in and after a sign-out. */
let owner: string | null = null;

/** Notes that this person is signed in, and deletes a draft of another person. */
export function signedIn(id: string): void {
  owner = id;
  localStorage.setItem(SIGNED_IN, id);
  if (read()?.owner !== id) sessionStorage.removeItem(DRAFT);
}

/** Notes the sign-out, and deletes the draft. */
export function signedOut(): void {
  owner = null;
  localStorage.removeItem(SIGNED_IN);
  sessionStorage.removeItem(DRAFT);
}

/** On the page Sign in: whether the last session in this browser ended without a sign-out. */
export function hasSessionExpired(): boolean {
  return localStorage.getItem(SIGNED_IN) !== null;
}

/** @returns the draft that the signed-in person stored last; undefined if there is none. */
export function storedDraft(): unknown {
  const last = read();
  return last && last.owner === owner ? last.value : undefined;
}

/** @returns false if the draft is larger than the browser allows. In this case, an earlier draft is deleted as well. */
export function storeDraft(value: unknown): boolean {
  if (owner === null) return true; // After a sign-out, no draft is kept.
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

// Another tab signed out, or signed in another person. Tabs share one session, so this one has to start again.
window.addEventListener("storage", ({ key, newValue }) => {
  if (key !== SIGNED_IN || owner === null || newValue === owner) return;
  owner = null;
  sessionStorage.removeItem(DRAFT);
  window.location.reload();
});
