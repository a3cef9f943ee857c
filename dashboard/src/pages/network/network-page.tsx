import { NativeSelect } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { type NetworkOwner, queries } from "../../client/api.ts";
import type { NetworkSearch } from "../../client/search.ts";
import { usePerson } from "../../client/session.ts";
import { Page } from "../../components/page.tsx";
import { EmptyState } from "../../components/query-boundary.tsx";
import { ProjectFilter } from "../sandboxes/project-filter.tsx";
import { SandboxesOff } from "../sandboxes/sandboxes-off.tsx";
import { Bound } from "./bound.tsx";
import { Reached } from "./reached.tsx";

const route = getRouteApi("/inside/network");

export function NetworkPage() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const { accounts } = usePerson();
  const { data: session } = useQuery(queries.session());
  const account = accounts.find(({ id }) => id === search.account) ?? accounts[0];
  const filter = (changed: NetworkSearch) =>
    navigate({ search: { ...search, ...changed }, replace: true, resetScroll: false });
  const owner: NetworkOwner | undefined =
    search.project === undefined
      ? account && { what: "accounts", id: account.id }
      : { what: "projects", id: search.project };
  return (
    <Page
      title="Network"
      lead="What programs in sandboxes may reach over the network at most, what they reached, and what was refused. Programs choose the names of hosts."
      actions={
        <>
          {accounts.length > 1 && (
            <NativeSelect
              aria-label="Account"
              value={account?.id ?? ""}
              onChange={({ currentTarget }) => filter({ account: currentTarget.value, project: undefined })}
              data={accounts.map(({ id, name }) => ({ value: id, label: name }))}
            />
          )}
          <ProjectFilter value={search.project} onChange={(next) => filter({ project: next })} account={account?.id} />
        </>
      }
    >
      {session?.hasSandboxes === false && <SandboxesOff />}
      {owner ? (
        // The key resets what is open of another account or project.
        <div key={owner.id}>
          <Bound owner={owner} />
          <Reached owner={owner} search={search} onFilter={filter} />
        </div>
      ) : (
        <EmptyState title="You have no account">
          An administrator can add you to one (<a href="/docs/dashboard">documentation</a>).
        </EmptyState>
      )}
    </Page>
  );
}
