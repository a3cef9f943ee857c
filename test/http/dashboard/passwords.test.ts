import assert from "node:assert/strict";
import { test } from "node:test";
import { hashPassword } from "../../../src/admin/passwords.ts";
import { ClientError } from "../../../src/domain/error.ts";
import { Passwords } from "../../../src/http/dashboard/passwords.ts";
import { addPerson } from "../../store/members.ts";
import { temporaryStore } from "../../store/temporary.ts";

test("weak passwords by many links from many addresses leave the places of sign-ins free", async (t) => {
  const { store } = await temporaryStore(t);
  const [email, password] = ["ada@example.com", "four words are good"];
  const ada = await addPerson(store, email);
  await store.people.setPassword(ada, await hashPassword(password), null, "test");
  const passwords = new Passwords(store);
  const person = { email: "eve@example.com", name: "Eve" };
  let settled = 0;
  const chosen = Promise.allSettled(
    Array.from({ length: 40 }, (_, n) =>
      passwords
        .chooseByLink({ ip: `192.0.2.${n}` }, `${n}`, "p4$$w0rd1l0v3y0u".repeat(4), person)
        .finally(() => settled++),
    ),
  );
  while (settled < 31) await new Promise(setImmediate); // the queue is full, and refuses all others
  assert.equal(await passwords.whose({ ip: "198.51.100.7" }, email, password), ada);
  assert.ok(settled < 40, "it had to wait for those before it");
  const refused = (await chosen).filter(({ status, ...rest }) => {
    assert.equal(status, "rejected");
    return "reason" in rest && rest.reason instanceof ClientError && rest.reason.status === 429;
  });
  // One place and eight that wait; each one that is judged before the last request comes makes room for another.
  assert.ok(refused.length >= 28 && refused.length <= 31, `${refused.length} were refused`);
});
