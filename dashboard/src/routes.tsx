import type { QueryClient } from "@tanstack/react-query";
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  redirect,
} from "@tanstack/react-router";
import { queries } from "./client/api.ts";
import { signedIn } from "./client/draft-storage.ts";
import { queryClient } from "./client/query-client.ts";
import {
  JUDGEMENT_PARAMETERS,
  NETWORK_PARAMETERS,
  type NetworkSearch,
  SANDBOX_PARAMETERS,
  type SandboxSearch,
  type Search,
  SNAPSHOT_PARAMETERS,
  type SnapshotSearch,
  SUBMISSION_PARAMETERS,
} from "./client/search.ts";
import { ErrorPage, NotFoundPage } from "./components/not-found-page.tsx";
import { AUDIT_FILTERS, type AuditSearch } from "./pages/audit/search.ts";
import { overviewSearch } from "./pages/overview/search.ts";
import type { NavigationEntry } from "./shell/navigation.ts";
import { Shell } from "./shell/shell.tsx";

/**
 * The routes of all pages, with their entries in the navigation. A page is loaded when it is opened, or when the pointer is on a link to
 * it.
 */

const root = createRootRouteWithContext<{ queryClient: QueryClient }>()({
  component: Outlet,
  notFoundComponent: NotFoundPage,
});

const signIn = createRoute({
  getParentRoute: () => root,
  path: "/sign-in",
  validateSearch: (search): { to?: string; refused?: string } => texts(search, ["to", "refused"]),
  component: lazyRouteComponent(() => import("./pages/sign-in/sign-in-page.tsx"), "SignInPage"),
});

const welcome = createRoute({
  getParentRoute: () => root,
  path: "/welcome",
  component: lazyRouteComponent(() => import("./pages/sign-in/one-time-link-page.tsx"), "OneTimeLinkPage"),
});

const inside = createRoute({
  getParentRoute: () => root,
  id: "inside",
  beforeLoad: async ({ context, location }) => {
    const { person } = await context.queryClient.query({ ...queries.session(), staleTime: 60_000 });
    if (!person) throw redirect({ to: "/sign-in", search: { to: location.href }, replace: true });
    signedIn(person.id);
    return { person };
  },
  component: Shell,
});

/** Makes the route of a page that is inside the shell, and has no parameters in its query string. */
const page = <const P extends string>(
  path: P,
  component: ReturnType<typeof lazyRouteComponent>,
  navigation?: NavigationEntry,
) => createRoute({ getParentRoute: () => inside, path, component, staticData: { ...(navigation && { navigation }) } });

const overview = createRoute({
  getParentRoute: () => inside,
  path: "/",
  staticData: { navigation: { group: "Runs", label: "Overview", icon: "overview" } },
  validateSearch: overviewSearch,
  component: lazyRouteComponent(() => import("./pages/overview/overview-page.tsx"), "OverviewPage"),
});

const audit = createRoute({
  getParentRoute: () => inside,
  path: "/audit",
  staticData: { navigation: { group: "Administration", label: "Audit trail", icon: "audit" } },
  validateSearch: (search): AuditSearch => texts(search, AUDIT_FILTERS),
  component: lazyRouteComponent(() => import("./pages/audit/audit-page.tsx"), "AuditPage"),
});

const submissions = createRoute({
  getParentRoute: () => inside,
  path: "/submissions",
  staticData: { navigation: { group: "Runs", label: "Submissions", icon: "list" } },
  /** The filters, and the id of the run next to the list. */
  validateSearch: (search): Search & { open?: string | undefined } => texts(search, [...SUBMISSION_PARAMETERS, "open"]),
  component: lazyRouteComponent(() => import("./pages/submissions/submissions-page.tsx"), "SubmissionsPage"),
});

const submission = createRoute({
  getParentRoute: () => inside,
  path: "/submissions/$id",
  validateSearch: (search): { tab?: string | undefined } => texts(search, ["tab"]),
  component: lazyRouteComponent(() => import("./pages/submissions/submission-page.tsx"), "SubmissionPage"),
});

const judgements = createRoute({
  getParentRoute: () => inside,
  path: "/judgements",
  staticData: { navigation: { group: "Runs", label: "Judgements", icon: "judge" } },
  validateSearch: (search): Search => texts(search, JUDGEMENT_PARAMETERS),
  component: lazyRouteComponent(() => import("./pages/judgements/judgements-page.tsx"), "JudgementsPage"),
});

const judgement = createRoute({
  getParentRoute: () => inside,
  path: "/judgements/$id",
  /** The number of the selected test. */
  validateSearch: ({ test }: Record<string, unknown>): { test?: number | undefined } =>
    Number.isSafeInteger(test) ? { test: test as number } : {},
  component: lazyRouteComponent(() => import("./pages/judgements/judgement-page.tsx"), "JudgementPage"),
});

const problems = createRoute({
  getParentRoute: () => inside,
  path: "/problems",
  staticData: { navigation: { group: "Runs", label: "Problems", icon: "problem" } },
  validateSearch: (search): { account?: string | undefined } => texts(search, ["account"]),
  component: lazyRouteComponent(() => import("./pages/problems/problems-page.tsx"), "ProblemsPage"),
});

const sandboxes = createRoute({
  getParentRoute: () => inside,
  path: "/sandboxes",
  staticData: {
    navigation: {
      group: "Runs",
      label: "Sandboxes",
      icon: "M12 3 4 7v10l8 4 8-4V7zM4 7l8 4 8-4M12 11v10",
      forSandboxes: true,
    },
  },
  validateSearch: (search): SandboxSearch => texts(search, SANDBOX_PARAMETERS),
  component: lazyRouteComponent(() => import("./pages/sandboxes/sandboxes-page.tsx"), "SandboxesPage"),
});

const sandbox = createRoute({
  getParentRoute: () => inside,
  path: "/sandboxes/$id",
  /** The number of the selected execution. */
  validateSearch: ({ execution }: Record<string, unknown>): { execution?: number | undefined } =>
    Number.isSafeInteger(execution) ? { execution: execution as number } : {},
  component: lazyRouteComponent(() => import("./pages/sandboxes/sandbox-page.tsx"), "SandboxPage"),
});

const snapshots = createRoute({
  getParentRoute: () => inside,
  path: "/snapshots",
  staticData: {
    navigation: {
      group: "Runs",
      label: "Snapshots",
      icon: "M4 8h4l2-3h4l2 3h4v11H4zM12 10a3.5 3.5 0 1 0 0 7 3.5 3.5 0 1 0 0-7",
      forSandboxes: true,
    },
  },
  validateSearch: (search): SnapshotSearch => texts(search, SNAPSHOT_PARAMETERS),
  component: lazyRouteComponent(() => import("./pages/sandboxes/snapshots-page.tsx"), "SnapshotsPage"),
});

const network = createRoute({
  getParentRoute: () => inside,
  path: "/network",
  staticData: {
    navigation: {
      group: "Runs",
      label: "Network",
      icon: "M12 3.5a8.5 8.5 0 1 0 0 17 8.5 8.5 0 1 0 0-17M3.5 12h17M12 3.5c5 5 5 12 0 17M12 3.5c-5 5-5 12 0 17",
      forSandboxes: true,
    },
  },
  validateSearch: (search): NetworkSearch => texts(search, NETWORK_PARAMETERS),
  component: lazyRouteComponent(() => import("./pages/network/network-page.tsx"), "NetworkPage"),
});

const playground = createRoute({
  getParentRoute: () => inside,
  path: "/playground",
  staticData: { navigation: { group: "Runs", label: "Playground", icon: "play" } },
  validateSearch: (search): { from?: string | undefined; problem?: string | undefined } =>
    texts(search, ["from", "problem"]),
  component: lazyRouteComponent(() => import("./pages/playground/playground-page.tsx"), "PlaygroundPage"),
});

const keys = createRoute({
  getParentRoute: () => inside,
  path: "/keys",
  staticData: { navigation: { group: "Access", label: "API keys", icon: "key" } },
  validateSearch: ({
    ended,
    ...search
  }: Record<string, unknown>): { name?: string | undefined; ended?: true | undefined } => ({
    ...texts(search, ["name"]),
    ...(ended === true && { ended }),
  }),
  component: lazyRouteComponent(() => import("./pages/keys/keys-page.tsx"), "KeysPage"),
});

const pages = [
  overview,
  submissions,
  submission,
  judgements,
  judgement,
  sandboxes,
  sandbox,
  snapshots,
  network,
  problems,
  page(
    "/problems/$id",
    lazyRouteComponent(() => import("./pages/problems/problem-page.tsx"), "ProblemPage"),
  ),
  playground,
  page(
    "/projects",
    lazyRouteComponent(() => import("./pages/projects/projects-page.tsx"), "ProjectsPage"),
    { group: "Access", label: "Projects", icon: "projects" },
  ),
  page(
    "/projects/$id",
    lazyRouteComponent(() => import("./pages/projects/project-page.tsx"), "ProjectPage"),
  ),
  keys,
  page(
    "/keys/$id",
    lazyRouteComponent(() => import("./pages/keys/key-page.tsx"), "KeyPage"),
  ),
  page(
    "/webhooks",
    lazyRouteComponent(() => import("./pages/webhooks/webhooks-page.tsx"), "WebhooksPage"),
    { group: "Access", label: "Webhooks", icon: "webhook" },
  ),
  page(
    "/webhooks/$id",
    lazyRouteComponent(() => import("./pages/webhooks/endpoint-page.tsx"), "EndpointPage"),
  ),
  page(
    "/languages",
    lazyRouteComponent(() => import("./pages/languages/languages-page.tsx"), "LanguagesPage"),
    { group: "Workers", label: "Languages", icon: "languages" },
  ),
  page(
    "/nodes",
    lazyRouteComponent(() => import("./pages/nodes/nodes-page.tsx"), "NodesPage"),
    { group: "Workers", label: "Nodes", icon: "nodes" },
  ),
  page(
    "/members",
    lazyRouteComponent(() => import("./pages/members/members-page.tsx"), "MembersPage"),
    { group: "Administration", label: "Members", icon: "members" },
  ),
  audit,
  page(
    "/settings",
    lazyRouteComponent(() => import("./pages/settings/settings-page.tsx"), "SettingsPage"),
    { group: "Administration", label: "Settings", icon: "settings", forAdministrators: true },
  ),
  page(
    "/profile",
    lazyRouteComponent(() => import("./pages/profile/profile-page.tsx"), "ProfilePage"),
  ),
  createRoute({ getParentRoute: () => inside, path: "/$", component: NotFoundPage }),
] as const;

export const router = createRouter({
  routeTree: root.addChildren([signIn, welcome, inside.addChildren(pages)]),
  basepath: "/dashboard",
  context: { queryClient },
  defaultPreload: "intent",
  defaultErrorComponent: ErrorPage,
  defaultNotFoundComponent: NotFoundPage,
  scrollRestoration: true,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}

/** The parameters with these names, if they are texts that are not empty. */
function texts<K extends string>(search: Record<string, unknown>, names: readonly K[]): { [name in K]?: string } {
  const found: { [name in K]?: string } = {};
  for (const name of names) if (typeof search[name] === "string" && search[name] !== "") found[name] = search[name];
  return found;
}
