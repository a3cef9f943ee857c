import { Button } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import type { Invited, Member } from "../../../src/http/dashboard/answers.ts";
import { change, part } from "../api.ts";
import { Answered, Empty } from "../pieces/answered.tsx";
import { Confirm } from "../pieces/confirm.tsx";
import { Icon } from "../pieces/icon.tsx";
import { Moment } from "../pieces/moment.tsx";
import { More } from "../pieces/more.tsx";
import { Page, Section } from "../pieces/page.tsx";
import { useParts } from "../pieces/parts.ts";
import { type Column, Rows, RowsWaiting } from "../pieces/rows.tsx";
import { State } from "../pieces/state.tsx";
import { usePerson } from "../session.ts";
import { Invite } from "./invite.tsx";
import { MemberMenu } from "./member-menu.tsx";
import css from "./members.module.css";

const MEMBERS: readonly Column<Member>[] = [
  {
    head: "Name",
    cell: ({ name, email }) => (
      <span className={css.name}>
        <b>{name}</b>
        <span>{email}</span>
      </span>
    ),
  },
  {
    head: "Sees",
    cell: ({ administrator, accounts }) =>
      administrator ? "everything: an administrator" : accounts.map(({ name }) => name).join(", ") || "nothing",
  },
  { head: "Signs in with", cell: ({ signsInWith }) => signsInWith.join(", ") || "nothing yet" },
  { head: "Last seen", cell: ({ seenAt }) => <Moment at={seenAt} /> },
  {
    head: "State",
    cell: ({ disabledAt }) => <State tone={disabledAt ? "bad" : "good"}>{disabledAt ? "disabled" : "active"}</State>,
  },
];

const ACTIONS: Column<Member> = { head: "Actions", headUnseen: true, cell: (member) => <MemberMenu of={member} /> };

const INVITED: readonly Column<Invited>[] = [
  { head: "E-mail", cell: ({ email }) => email },
  { head: "For", cell: ({ kind }) => (kind === "reset" ? "a new password" : "an invitation") },
  { head: "Will see", cell: ({ administrator, account }) => (administrator ? "everything" : (account ?? "as before")) },
  { head: "Ends", cell: ({ expiresAt }) => <Moment at={expiresAt} /> },
];

const WITHDRAW: Column<Invited> = {
  head: "Actions",
  headUnseen: true,
  cell: ({ id, email }) => (
    <Confirm
      label="Withdraw"
      title={`Withdraw the link of ${email}?`}
      act={() => change.withdraw(id)}
      said="The link is withdrawn."
    >
      The link stops working. You can create another.
    </Confirm>
  ),
};

export function MembersPage() {
  const { administrator } = usePerson();
  const members = useParts(["/members"], part.members);
  const invitations = useParts(["/members/invitations"], part.invitations);
  const [inviting, { open, close }] = useDisclosure();
  return (
    <Page
      title="Members"
      lead="People who sign in here. Members see what belongs to their accounts; administrators see and change everything."
      actions={
        administrator && (
          <Button leftSection={<Icon name="plus" />} onClick={open}>
            Invite somebody
          </Button>
        )
      }
    >
      <Answered of={members} waiting={<RowsWaiting />}>
        {(pages) => {
          const all = pages.flatMap((page) => page.members);
          return all.length === 0 ? (
            <Empty title="No members yet" />
          ) : (
            <>
              <Rows
                caption="Members"
                columns={administrator ? [...MEMBERS, ACTIONS] : MEMBERS}
                rows={all}
                of={({ id }) => id}
                faded={({ disabledAt }) => disabledAt !== null}
              />
              <More of={members} />
            </>
          );
        }}
      </Answered>
      <Answered of={invitations} waiting={null}>
        {(pages) => {
          const invited = pages.flatMap((page) => page.invited);
          return invited.length === 0 ? null : (
            <Section title="Unused links">
              <Rows
                caption="Unused links"
                columns={administrator ? [...INVITED, WITHDRAW] : INVITED}
                rows={invited}
                of={({ id }) => id}
              />
              <More of={invitations} />
            </Section>
          );
        }}
      </Answered>
      {inviting && <Invite onClose={close} />}
    </Page>
  );
}
