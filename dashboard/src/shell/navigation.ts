import { useQuery } from "@tanstack/react-query";
import { type LinkProps, useRouter } from "@tanstack/react-router";
import { queries } from "../client/api.ts";
import type { AnyIcon } from "../components/icon.tsx";

const GROUPS = ["Runs", "Access", "Workers", "Administration"] as const;

/** How the navigation and the command palette show a page. Pages without it are reached from other pages. */
export interface NavigationEntry {
  readonly group: (typeof GROUPS)[number];
  readonly label: string;
  readonly icon: AnyIcon;
  readonly forAdministrators?: true;
  /** Whether the page is only for services with sandboxes. */
  readonly forSandboxes?: true;
}

export interface NavigationItem extends NavigationEntry {
  readonly to: NonNullable<LinkProps["to"]>;
}

declare module "@tanstack/react-router" {
  interface StaticDataRouteOption {
    readonly navigation?: NavigationEntry;
  }
}

/** The pages of the navigation, in the order of routes.tsx. @param administrator whether the person sees the pages for administrators. */
export function useNavigationItems(administrator: boolean): readonly NavigationItem[] {
  const routes = Object.values(useRouter().routesById);
  const { data: session } = useQuery(queries.session());
  return routes.flatMap(({ fullPath, options }) => {
    const { navigation } = options.staticData ?? {};
    if (!navigation || (navigation.forAdministrators && !administrator)) return [];
    if (navigation.forSandboxes && !session?.hasSandboxes) return [];
    return [{ ...navigation, to: fullPath as NavigationItem["to"] }];
  });
}

/** The items in their groups. */
export function inGroups(items: readonly NavigationItem[]) {
  return GROUPS.map((label) => ({ label, items: items.filter(({ group }) => group === label) }));
}
