import { Link } from "@tanstack/react-router";
import { Page } from "./page.tsx";
import { Empty, Trouble } from "./query-boundary.tsx";

export function NotFoundPage() {
  return (
    <Page title="Page not found">
      <Empty title="There is no page with this address">
        It was removed, or you have no access to it. <Link to="/">Go to the overview</Link>
      </Empty>
    </Page>
  );
}

export function Broken({ error }: { error: unknown }) {
  return (
    <Page title="This page failed">
      <Trouble text={`${error instanceof Error ? error.message : error}.`} again={() => window.location.reload()} />
    </Page>
  );
}
