import type { QueryClient } from "@tanstack/react-query";
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  redirect,
} from "@tanstack/react-router";
import { asking } from "./api.ts";
import { Broken, Lost } from "./pieces/lost.tsx";
import { queries } from "./queries.ts";
import { Shell } from "./shell/shell.tsx";

/** All pages. Each is loaded when somebody goes there, or points at a link to it. */

const root = createRootRouteWithContext<{ queries: QueryClient }>()({
  component: Outlet,
  notFoundComponent: Lost,
});

const signIn = createRoute({
  getParentRoute: () => root,
  path: "/sign-in",
  validateSearch: (search): { to?: string } => texts(search, ["to"]),
  component: lazyRouteComponent(() => import("./people/sign-in-page.tsx"), "SignInPage"),
});

const inside = createRoute({
  getParentRoute: () => root,
  id: "inside",
  beforeLoad: async ({ context, location }) => {
    const { person } = await context.queries.query({ ...asking.session(), staleTime: 60_000 });
    if (!person) throw redirect({ to: "/sign-in", search: { to: location.href }, replace: true });
    return { person };
  },
  component: Shell,
});

const nodes = createRoute({
  getParentRoute: () => inside,
  path: "/nodes",
  component: lazyRouteComponent(() => import("./nodes/nodes-page.tsx"), "NodesPage"),
});

export const router = createRouter({
  routeTree: root.addChildren([signIn, inside.addChildren([nodes])]),
  basepath: "/dashboard",
  context: { queries },
  defaultPreload: "intent",
  defaultErrorComponent: Broken,
  defaultNotFoundComponent: Lost,
  scrollRestoration: true,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}

/** What of an address is text under these names; all else of it is nobody's. */
function texts<K extends string>(search: Record<string, unknown>, names: readonly K[]): { [name in K]?: string } {
  const found: { [name in K]?: string } = {};
  for (const name of names) if (typeof search[name] === "string" && search[name] !== "") found[name] = search[name];
  return found;
}
