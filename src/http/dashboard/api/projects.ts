import type { AccountRef } from "./session.ts";

/**
 * Lists of projects, keys, endpoints, people and invitations are paginated, newest first. `before` is the `next` of the
 * previous page, `limit` is from 1 to 500 with a default of 100, and `account` selects one account.
 */

/** GET /projects[?account=ID][&state=open][&before=NEXT&limit=100] → Projects. */
export interface Projects {
  readonly projects: readonly Project[];
  readonly next: string | null;
}

/** POST /projects (NewProject) → Project. GET /projects/:id → Project. PATCH /projects/:id (ProjectChanges) → Project. */
export interface Project {
  readonly id: string;
  readonly name: string;
  readonly account: AccountRef;
  readonly createdAt: string;
  readonly archivedAt: string | null;
  readonly liveKeys: number;
  readonly endpoints: number;
}

export interface NewProject {
  readonly name: string;
  readonly accountId: string;
}

/** A request has exactly one of these fields. */
export interface ProjectChanges {
  readonly name?: string;
  readonly archived?: boolean;
}
