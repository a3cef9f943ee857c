import { useQuery } from "@tanstack/react-query";
import type { AccountRef, Person } from "../../src/http/dashboard/api/session.ts";
import { asking } from "./api.ts";

/** Who is signed in: below the shell, somebody is. */
export function usePerson(): Person {
  const { data } = useQuery(asking.session());
  if (!data?.person) throw new Error("nobody is signed in");
  return data.person;
}

/** What to choose an account from: nothing where there is one only. */
export function useChoiceOfAccounts(): readonly AccountRef[] {
  const { accounts } = usePerson();
  return accounts.length > 1 ? accounts : [];
}

/** Goes in as who has just signed in, with a new document: nothing that somebody else saw here before is left in its memory. */
export function enter(place: string): void {
  window.location.replace(`/dashboard${place}`);
}
