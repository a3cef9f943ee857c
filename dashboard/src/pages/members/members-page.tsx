import { Button } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { Link } from "@tanstack/react-router";
import type { Invited, Member } from "../../../../src/http/dashboard/api/members.ts";
import { fetchPage, mutations } from "../../client/api.ts";
import { usePerson } from "../../client/session.ts";
import { usePaginatedQuery } from "../../client/use-paginated-query.ts";
import { ConfirmButton } from "../../components/confirm-button.tsx";
import { type Column, DataTable, TableSkeleton } from "../../components/data-table.tsx";
import { Icon } from "../../components/icon.tsx";
import { LoadMore } from "../../components/load-more.tsx";
import { Page, Section } from "../../components/page.tsx";
import { EmptyState, QueryBoundary } from "../../components/query-boundary.tsx";
import { StatusBadge } from "../../components/status-badge.tsx";
import { Timestamp } from "../../components/timestamp.tsx";
import { InviteDialog } from "./invite-dialog.tsx";
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
    head: "Access",
    cell: ({ administrator, accounts }) =>
      administrator ? "Administrator: all accounts" : accounts.map(({ name }) => name).join(", ") || "no account",
  },
  { head: "Signs in with", cell: ({ signsInWith }) => signsInWith.join(", ") || "not signed in yet" },
  { head: "Last seen", cell: ({ seenAt }) => <Timestamp at={seenAt} /> },
  {
    head: "State",
    cell: ({ disabledAt }) => (
      <StatusBadge tone={disabledAt ? "bad" : "good"}>{disabledAt ? "disabled" : "active"}</StatusBadge>
    ),
  },
];

const ACTIONS: Column<Member> = { head: "Actions", headUnseen: true, cell: (member) => <MemberMenu member={member} /> };

const INVITED: readonly Column<Invited>[] = [
  { head: "E-mail", cell: ({ email }) => email },
  { head: "Purpose", cell: ({ kind }) => (kind === "reset" ? "password reset" : "invitation") },
  {
    head: "Access",
    cell: ({ administrator, account }) => (administrator ? "Administrator: all accounts" : (account ?? "unchanged")),
  },
  { head: "Expires", cell: ({ expiresAt }) => <Timestamp at={expiresAt} /> },
];

const WITHDRAW: Column<Invited> = {
  head: "Actions",
  headUnseen: true,
  cell: ({ id, email }) => (
    <ConfirmButton
      label="Withdraw"
      submit="Withdraw link"
      title={`Withdraw the link of ${email}?`}
      act={() => mutations.withdraw(id)}
      successMessage="Link withdrawn."
    >
      The link stops working. You can create another.
    </ConfirmButton>
  ),
};

export function MembersPage() {
  const { administrator } = usePerson();
  const members = usePaginatedQuery(["/members"], fetchPage.members);
  const invitations = usePaginatedQuery(["/members/invitations"], fetchPage.invitations);
  const [inviting, { open, close }] = useDisclosure();
  return (
    <Page
      title="Members"
      lead="People who can sign in. Members have access to their accounts, administrators to all accounts."
      actions={
        administrator && (
          <Button leftSection={<Icon name="plus" />} onClick={open}>
            Invite member
          </Button>
        )
      }
    >
      <QueryBoundary query={members} placeholder={<TableSkeleton />}>
        {(pages) => {
          const all = pages.flatMap((page) => page.members);
          return all.length === 0 ? (
            <EmptyState title="No members yet">
              You have access to no account. Ask an administrator; <Link to="/profile">your profile</Link> shows your
              e-mail address.
            </EmptyState>
          ) : (
            <>
              <DataTable
                caption="Members"
                columns={administrator ? [...MEMBERS, ACTIONS] : MEMBERS}
                rows={all}
                rowKey={({ id }) => id}
                faded={({ disabledAt }) => disabledAt !== null}
              />
              <LoadMore query={members} />
            </>
          );
        }}
      </QueryBoundary>
      <QueryBoundary query={invitations} placeholder={null}>
        {(pages) => {
          const invited = pages.flatMap((page) => page.invited);
          return invited.length === 0 ? null : (
            <Section title="Unused links">
              <DataTable
                caption="Unused links"
                columns={administrator ? [...INVITED, WITHDRAW] : INVITED}
                rows={invited}
                rowKey={({ id }) => id}
              />
              <LoadMore query={invitations} />
            </Section>
          );
        }}
      </QueryBoundary>
      {inviting && <InviteDialog onClose={close} />}
    </Page>
  );
}
