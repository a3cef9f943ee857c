import { Link } from "@tanstack/react-router";
import { Page } from "./page.tsx";
import { Empty, Trouble } from "./query-boundary.tsx";

export function NotFoundPage() {
  return (
    <Page title="Nothing is here">
      <Empty title="There is no such page">
        It may have been removed, or you may not look at it. <Link to="/">To the beginning</Link>
      </Empty>
    </Page>
  );
}

export function Broken({ error }: { error: unknown }) {
  return (
    <Page title="This page broke">
      <Trouble text={`${error instanceof Error ? error.message : error}.`} again={() => window.location.reload()} />
    </Page>
  );
}
