import { Button } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { Network, NetworkPolicyJson, ProjectBound } from "../../../../src/http/dashboard/api/network.ts";
import { mutations, type NetworkOwner, queries } from "../../client/api.ts";
import { usePerson } from "../../client/session.ts";
import { ConfirmButton } from "../../components/confirm-button.tsx";
import { type Column, DataTable, TableSkeleton } from "../../components/data-table.tsx";
import { count, size } from "../../components/format.ts";
import { Section } from "../../components/page.tsx";
import { QueryBoundary } from "../../components/query-boundary.tsx";
import { Timestamp } from "../../components/timestamp.tsx";
import { HostName } from "../../egress/host-name.tsx";
import { PolicyView } from "../../egress/policy.tsx";
import { ruleName } from "../../egress/rule-name.ts";
import { LimitBars } from "../../run/limit-usage.tsx";
import { BoundDialog } from "./bound-dialog.tsx";
import css from "./network.module.css";

/** What sandboxes of an account or project may reach at most, for those who may change it with a form. */
export function Bound({ owner }: { owner: NetworkOwner }) {
  const query = useQuery(queries.network(owner));
  const { administrator } = usePerson();
  const isProject = owner.what === "projects";
  const mayChange = isProject || administrator;
  const title = isProject ? "Bound of the project" : "Bound of the account";
  // Within an account that has no network, a project cannot have a bound.
  const canSet =
    query.data !== undefined && (!isProject || query.data.bound !== null || query.data.effective !== "none");
  return (
    <Section
      title={title}
      actions={
        <>
          <Link to="/audit" search={{ subject: owner.id }}>
            Changes
          </Link>
          {mayChange && canSet && query.data && <Actions owner={owner} of={query.data} />}
        </>
      }
    >
      <QueryBoundary query={query} placeholder={<TableSkeleton rows={3} />}>
        {(network) => (
          <div className={css.card}>
            <Permitted of={network} isProject={isProject} />
            <Today of={network} isProject={isProject} />
            {!mayChange && <p className={css.hint}>Only administrators change the bound of an account.</p>}
          </div>
        )}
      </QueryBoundary>
      {!isProject && <ProjectBounds account={owner.id} />}
    </Section>
  );
}

function Actions({ owner, of: { account, project, bound, effective } }: { owner: NetworkOwner; of: Network }) {
  const [isOpen, { open, close }] = useDisclosure();
  const name = project ?? account;
  // A project without a bound begins with that of its account.
  const begin = bound ?? { policy: effective, bytes_up_per_day: null, bytes_down_per_day: null };
  return (
    <>
      {bound && (
        <ConfirmButton
          label="Remove"
          ariaLabel="Remove the bound"
          submit="Remove bound"
          title="Remove this bound?"
          act={() => mutations.clearNetwork(owner)}
          successMessage="Network bound removed."
        >
          {project === null
            ? `All sandboxes of the account ${name} lose their network at once, also those of its projects.`
            : `The project ${name} then has the bound of its account. What its living sandboxes may reach does not become more.`}
        </ConfirmButton>
      )}
      <Button size="compact-sm" variant="default" onClick={open}>
        {bound ? "Change" : "Set a bound"}
      </Button>
      {isOpen && (
        <BoundDialog owner={owner} name={name} begin={begin} isClosed={bound?.policy === "none"} onClose={close} />
      )}
    </>
  );
}

function Permitted({ of: { account, project, bound, effective }, isProject }: { of: Network; isProject: boolean }) {
  if (!isProject && bound === null)
    return (
      <p>
        No network is open for the account {account}: its sandboxes reach nothing until an administrator sets a bound.
      </p>
    );
  const isNarrowed = bound !== null && JSON.stringify(bound.policy) !== JSON.stringify(effective);
  return (
    <>
      {bound === null ? (
        <p>
          The project {project} has no bound of its own, so that of the account {account} holds.
        </p>
      ) : (
        <>
          <p>Sandboxes of the {isProject ? `project ${project}` : `account ${account}`} may reach at most:</p>
          <PolicyOrNothing of={bound.policy} />
          <p className={css.hint}>
            Version {count(bound.version)}, set <Timestamp at={bound.changed_at} />
          </p>
        </>
      )}
      {bound === null && <PolicyOrNothing of={effective} />}
      {isNarrowed && (
        <>
          <p className={css.apart}>The bound of the account has become narrower, so they may reach only:</p>
          <PolicyOrNothing of={effective} />
        </>
      )}
    </>
  );
}

function PolicyOrNothing({ of: policy }: { of: NetworkPolicyJson }) {
  return policy === "none" ? <p className={css.nothing}>nothing</p> : <PolicyView of={policy} />;
}

/** What is left of the day. What is left for a project can be less than its own bound leaves, because that of the account holds as well. */
function Today({ of: { bound, today }, isProject }: { of: Network; isProject: boolean }) {
  const { date, bytes_up_left: up, bytes_down_left: down } = today;
  if (up === null && down === null) return null;
  const bars = [
    { name: "Sent today", limit: bound?.bytes_up_per_day ?? null, left: up },
    { name: "Received today", limit: bound?.bytes_down_per_day ?? null, left: down },
  ].flatMap(({ name, limit, left }) =>
    isProject || limit === null || left === null ? [] : [{ name, used: limit - left, limit, met: left === 0 }],
  );
  const parts = [...(up === null ? [] : [`send ${size(up)}`]), ...(down === null ? [] : [`receive ${size(down)}`])];
  return (
    <div className={css.apart}>
      {bars.length > 0 && <LimitBars of={bars.map((bar) => ({ ...bar, written: size }))} />}
      <p className={css.hint}>
        Today ({date}, UTC), all sandboxes together may still {parts.join(" and ")}. What they have reserved counts as
        used.
      </p>
    </div>
  );
}

const COLUMNS: readonly Column<ProjectBound>[] = [
  {
    head: "Project",
    cell: ({ project }) => (
      <Link to="/network" search={(search) => ({ ...search, project: project.id })}>
        {project.name}
      </Link>
    ),
  },
  { head: "May reach", cell: ({ policy }) => <Names of={policy} /> },
  { head: "Version", number: true, cell: ({ version }) => count(version) },
  { head: "Changed", cell: ({ changedAt }) => <Timestamp at={changedAt} /> },
];

/** The first rules of a policy, in one line. */
function Names({ of: policy }: { of: NetworkPolicyJson }) {
  if (policy === "none") return "nothing";
  const [first, second, ...rest] = policy.allow.map(ruleName);
  return (
    <span className={css.names}>
      <HostName of={first ?? ""} />
      {second !== undefined && (
        <>
          {rest.length === 0 ? " and " : ", "}
          <HostName of={second} />
        </>
      )}
      {rest.length > 0 && ` and ${count(rest.length)} more`}
    </span>
  );
}

/** The projects of an account that have a bound of their own; nothing if there is none. */
function ProjectBounds({ account }: { account: string }) {
  const { data = [] } = useQuery(queries.projectBounds(account));
  if (data.length === 0) return null;
  return (
    <div className={css.projects}>
      <h3>Projects with a bound of their own</h3>
      <DataTable
        caption="Projects with a bound of their own"
        columns={COLUMNS}
        rows={data}
        rowKey={({ project }) => project.id}
      />
    </div>
  );
}
