import { useQuery } from "@tanstack/react-query";
import type { AccountRef, Person } from "../../../src/http/dashboard/api/session.ts";
import { queries } from "./api.ts";

/** The signed-in person; only for pages below the shell. */
export function usePerson(): Person {
  const { data } = useQuery(queries.session());
  if (!data?.person) throw new Error("there is no session");
  return data.person;
}

/** The accounts to choose from; empty if there is only one. */
export function useAccountOptions(): readonly AccountRef[] {
  const { accounts } = usePerson();
  return accounts.length > 1 ? accounts : [];
}

/** Path, on the machine of the service, of the authority of its own certificate; null if clients know the authority. */
export function useAuthority(): string | null {
  const { data } = useQuery(queries.session());
  return data?.authority ?? null;
}

/** Opens the dashboard after sign-in by loading a new document, so that no data of an earlier session stays in memory. */
export function openDashboard(place: string): void {
  window.location.replace(`/dashboard${place}`);
}
