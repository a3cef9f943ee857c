import { z } from "zod";
import { AdminError } from "../../admin/error.ts";
import { checkLength } from "../../admin/password-rules.ts";
import { updatePerson } from "../../admin/people.ts";
import type { MyChanges, Person } from "./api/session.ts";
import { type DashboardRoute, dashboardRoute } from "./route.ts";
import { describe } from "./sign-in.ts";

const changes = z.strictObject({
  name: z.string().exactOptional(),
  password: z.strictObject({ current: z.string(), next: z.string() }).exactOptional(),
}) satisfies z.ZodType<MyChanges>;

/** PATCH /dashboard/api/me: changes the name or the password of the person who is signed in. */
export const meRoutes: readonly DashboardRoute[] = [
  dashboardRoute({
    method: "patch",
    path: "/me",
    session: "member",
    body: changes,
    handler:
      ({ dependencies: { store }, passwords }) =>
      async ({ request, person, actor, body: { name, password } }): Promise<Person> => {
        if (password) {
          checkLength(password.next);
          // The current password is needed, so that nobody can lock out a person whose browser was left unattended.
          const personId = await passwords.findPerson(request, person.email, password.current);
          if (personId !== person.id) throw new AdminError("the current password is wrong");
          const hash = await passwords.choose(person, password.next);
          await store.people.setPassword(person.id, hash, request.sessionHash, actor);
        }
        if (name === undefined) return await describe(store, person);
        const changed = await updatePerson(store, person.id, { name: name.trim() }, actor);
        return await describe(store, { ...person, name: changed.name });
      },
  }),
];
