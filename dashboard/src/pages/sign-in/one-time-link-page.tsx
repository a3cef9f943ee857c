import { Button, PasswordInput, TextInput } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { Link, useLocation } from "@tanstack/react-router";
import type { SubmitEvent } from "react";
import type { OneTimeLink } from "../../../../src/http/dashboard/api/session.ts";
import { isNotFound, mutations, queries } from "../../client/api.ts";
import { openDashboard } from "../../client/session.ts";
import { TableSkeleton } from "../../components/data-table.tsx";
import { text } from "../../components/form.tsx";
import { sentence } from "../../components/format.ts";
import { ErrorMessage, QueryBoundary } from "../../components/query-boundary.tsx";
import { Timestamp } from "../../components/timestamp.tsx";
import { AuthLayout } from "./auth-layout.tsx";

const TITLES = { first: "First administrator", invite: "Welcome", reset: "New password" } as const;

/** The page of one-time links. The token of the link is in the fragment of the URL, which browsers do not send to servers. */
export function OneTimeLinkPage() {
  const { hash: token } = useLocation();
  const invitation = useQuery({
    ...queries.invitation(token),
    enabled: token !== "",
    staleTime: Infinity,
  });
  const { error } = invitation;
  if (token === "" || isNotFound(error)) {
    return (
      <AuthLayout title="This link does not work">
        <p>
          {error ? sentence(error.message) : "The link is incomplete."} Ask an administrator for a new one. If nobody
          can sign in yet, the operator of the service prints one with <code>assay members link</code>.
        </p>
        <p>
          <Link to="/sign-in">Sign in</Link>
        </p>
      </AuthLayout>
    );
  }
  return (
    <AuthLayout title={invitation.data ? TITLES[invitation.data.kind] : "Welcome"}>
      <QueryBoundary query={invitation} placeholder={<TableSkeleton rows={5} />}>
        {(of) => <Accept token={token} of={of} />}
      </QueryBoundary>
    </AuthLayout>
  );
}

function Accept({ token, of: { kind, email, account, expiresAt } }: { token: string; of: OneTimeLink }) {
  const accepting = useMutation({
    mutationFn: (form: FormData) =>
      mutations.accept({
        token,
        email: email ?? text(form, "email"),
        name: text(form, "name"),
        password: String(form.get("password")),
      }),
    onSuccess: () => openDashboard("/"),
  });
  const submit = (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    accepting.mutate(new FormData(event.currentTarget));
  };
  return (
    <>
      <p>
        {kind === "first" && "You will have access to all accounts, and can invite members."}
        {kind === "invite" &&
          (account ? `You will have access to ${account}.` : "You will have access to all accounts.")}
        {kind === "reset" && "The new password replaces the old one and ends all your sessions."} The link expires{" "}
        <Timestamp at={expiresAt} />.
      </p>
      {accepting.error && <ErrorMessage text={sentence(accepting.error.message)} />}
      <form onSubmit={submit}>
        {email === null ? (
          <TextInput label="E-mail" name="email" type="email" autoComplete="username" required withAsterisk={false} />
        ) : (
          <TextInput label="E-mail" value={email} readOnly autoComplete="username" />
        )}
        {kind !== "reset" && (
          <TextInput label="Your name" name="name" autoComplete="name" required withAsterisk={false} maxLength={100} />
        )}
        <PasswordInput
          label="Password"
          description="12 characters or more; length matters more than special characters"
          name="password"
          autoComplete="new-password"
          minLength={12}
          required
          withAsterisk={false}
        />
        <Button type="submit" fullWidth loading={accepting.isPending || accepting.isSuccess}>
          {kind === "reset" ? "Set password" : "Create sign-in"}
        </Button>
      </form>
    </>
  );
}
