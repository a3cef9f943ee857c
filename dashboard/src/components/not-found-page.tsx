import { Link } from "@tanstack/react-router";
import { Page } from "./page.tsx";
import { EmptyState, ErrorMessage } from "./query-boundary.tsx";

export function NotFoundPage() {
  return (
    <Page title="Page not found">
      <EmptyState title="There is no page with this address">
        It was removed, or you have no access to it. <Link to="/">Go to the overview</Link>
      </EmptyState>
    </Page>
  );
}

export function ErrorPage({ error }: { error: unknown }) {
  return (
    <Page title="This page failed">
      <ErrorMessage
        text={`${error instanceof Error ? error.message : error}.`}
        again={() => window.location.reload()}
      />
    </Page>
  );
}
