import { useQuery } from "@tanstack/react-query";
import { createContext, use } from "react";
import type { AccountRef, Person } from "../../../src/http/dashboard/api/session.ts";
import { mutations, queries } from "./api.ts";
import { signedOut } from "./draft-storage.ts";

/**
 * The signed-in person. The shell provides it to all that it renders. At the end of a session, a page can render once more before the
 * shell removes it, so a page must not read the person from the query, which has none by then.
 */
export const PersonContext = createContext<Person | null>(null);

/** The signed-in person. @throws Error outside the shell. */
export function usePerson(): Person {
  const person = use(PersonContext);
  if (!person) throw new Error("this component is outside the shell");
  return person;
}

/** The accounts among which the person can choose; empty if the person has at most one. */
export function useAccountOptions(): readonly AccountRef[] {
  const { accounts } = usePerson();
  return accounts.length > 1 ? accounts : [];
}

/**
 * Path, on the machine of the service, of the certificate authority that set-up made for the service. Null if the service does not
 * use a certificate of this authority, or nobody is signed in.
 */
export function useAuthority(): string | null {
  const { data } = useQuery(queries.session());
  return data?.authority ?? null;
}

/** Opens the dashboard after sign-in by loading a new document, so that no data of an earlier session stays in memory. */
export function openDashboard(place: string): void {
  window.location.replace(`/dashboard${place}`);
}

/**
 * Ends the session, deletes the draft, and loads a new document, so that no data of the session stays in memory.
 * @throws Error if the session could not be ended.
 */
export async function signOut(): Promise<void> {
  await mutations.signOut();
  signedOut();
  window.location.assign("/dashboard/sign-in");
}
