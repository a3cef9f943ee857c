import { Button, PasswordInput, TextInput } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { type SubmitEvent, useState } from "react";
import { API, mutations, queries } from "../../client/api.ts";
import { hasSessionExpired } from "../../client/draft-storage.ts";
import { openDashboard } from "../../client/session.ts";
import { sentence } from "../../components/format.ts";
import { ErrorMessage } from "../../components/query-boundary.tsx";
import { AuthLayout } from "./auth-layout.tsx";

const route = getRouteApi("/sign-in");

export function SignInPage() {
  const { to, refused } = route.useSearch();
  const { data: session } = useQuery(queries.session());
  const [ended] = useState(hasSessionExpired);
  const signIn = useMutation({ mutationFn: mutations.signIn, onSuccess: () => openDashboard(pathWithin(to)) });
  const submit = (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    signIn.mutate({ email: String(form.get("email")).trim(), password: String(form.get("password")) });
  };
  if (session?.hasNoPeople) {
    return (
      <AuthLayout title="No administrator yet">
        <p>
          Open the one-time link that <code>assay serve</code> printed at its start, and become the first administrator.
          If you do not have it, the command <code>assay members link</code> prints a new one.
        </p>
      </AuthLayout>
    );
  }
  return (
    <AuthLayout title="Sign in">
      {ended && session?.person === null && !refused && !signIn.error && (
        <p role="status">Your session ended. Sign in to continue.</p>
      )}
      {refused && !signIn.error && (
        <ErrorMessage text="Sign-in failed: the provider did not confirm who you are, or no member here has the e-mail address that it reports. An administrator can invite you." />
      )}
      {signIn.error && <ErrorMessage text={sentence(signIn.error.message)} />}
      <form onSubmit={submit}>
        <TextInput label="E-mail" name="email" type="email" autoComplete="username" required withAsterisk={false} />
        <PasswordInput label="Password" name="password" autoComplete="current-password" required withAsterisk={false} />
        <Button type="submit" fullWidth loading={signIn.isPending || signIn.isSuccess}>
          Sign in
        </Button>
      </form>
      {session?.provider && (
        <Button component="a" href={`${API}/provider`} variant="default" fullWidth>
          {session.provider}
        </Button>
      )}
      <p>Forgot your password? An administrator can create a link to reset it.</p>
    </AuthLayout>
  );
}

/**
 * The path to open after sign-in. Anything but a path of the dashboard is ignored, because a crafted link must not lead
 * elsewhere.
 */
function pathWithin(to: string | undefined): string {
  return to && /^\/(?![/\\])/.test(to) ? to : "/";
}
