/** The icons as paths on a grid of 24 × 24. A package of icons would make the pages larger. */
const PATHS = {
  menu: "M4 7h16M4 12h16M4 17h16",
  overview: "M4 19V5m0 14h16M8 15l3.5-4 3 2.5L20 7",
  list: "M9 6h11M9 12h11M9 18h11M4.5 6h.01M4.5 12h.01M4.5 18h.01",
  judge: "M4 4.5h6v6H4zM14 4.5h6v6h-6zM4 14.5h6v6H4zM14 17.5l2.3 2.3 4-4.3",
  problem: "M6 3.5h9l4 4v13H6zM9.8 11a2.3 2.3 0 1 1 3.4 2c-.7.4-1 .8-1 1.5m.02 2.8h.01",
  play: "M7 5v14l12-7z",
  projects:
    "M3.5 7.5V18a1.5 1.5 0 0 0 1.5 1.5h14a1.5 1.5 0 0 0 1.5-1.5V9A1.5 1.5 0 0 0 19 7.5h-7L10 5H5a1.5 1.5 0 0 0-1.5 1.5z",
  key: "M8.5 20a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9zM11.7 12.3 20.5 3.5M16.5 7.5l3 3",
  webhook: "M9 8.5a3 3 0 1 1 4.6 2.5l3 5.2M6 14.2A3 3 0 1 0 9 17h6m0 0a3 3 0 1 0 1.5-2.6M11 11l-3.2 5.4",
  languages: "m8 7-5 5 5 5m8-10 5 5-5 5M13.5 4.5l-3 15",
  nodes: "M4 4.5h16v6H4zM4 13.5h16v6H4zM7.5 7.5h.01M7.5 16.5h.01M11 7.5h6M11 16.5h6",
  audit: "M6 3.5h9l4 4v13H6zM9 11h7M9 14.5h7M9 18h4",
  members:
    "M9 11a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7zm-6.5 9a6.5 6.5 0 0 1 13 0M16 4.3a3.5 3.5 0 0 1 0 6.4M18 14.2a6.5 6.5 0 0 1 3.5 5.8",
  settings:
    "M4 7h9m5 0h2M4 17h2m5 0h9M15.5 9.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5zm-7 10a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5z",
  person: "M12 11.5a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM4 20.5a8 8 0 0 1 16 0",
  sun: "M12 16a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM12 2.5v2m0 15v2m9.5-9.5h-2m-15 0h-2M18.7 5.3l-1.4 1.4M6.7 17.3l-1.4 1.4m13.4 0-1.4-1.4M6.7 6.7 5.3 5.3",
  moon: "M20 14.5A8.5 8.5 0 0 1 9.5 4 8.5 8.5 0 1 0 20 14.5z",
  screen: "M3 4.5h18v12H3zM9 20.5h6m-3-4v4",
  search: "M11 18a7 7 0 1 0 0-14 7 7 0 0 0 0 14zM16 16l4.5 4.5",
  filter: "M4 6h16M7 12h10M10 18h4",
  check: "m5 12.5 4.5 4.5L19 7.5",
  cross: "M6 6l12 12M18 6 6 18",
  find: "M10.5 17a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13zM15.3 15.3 20.5 20.5",
  wrap: "M4 6h16M4 12h13a3 3 0 0 1 0 6h-5m2.5-2.5L12 18l2.5 2.5M4 18h4",
  download: "M12 4v11m-4.5-4 4.5 4.5 4.5-4.5M5 20h14",
  end: "M12 4v12m-4.5-4 4.5 4.5 4.5-4.5M5 20h14",
  copy: "M9 9h11v11H9zM15 9V4H4v11h5",
  leave: "M14 4H5v16h9m-4-8h11m-4-4 4 4-4 4",
  alert: "M12 3.5 2.5 20h19zM12 10v4.5m0 2.5h.01",
  plus: "M12 5v14M5 12h14",
  more: "M4.5 12a1 1 0 1 0 2 0 1 1 0 1 0-2 0zm6.5 0a1 1 0 1 0 2 0 1 1 0 1 0-2 0zm6.5 0a1 1 0 1 0 2 0 1 1 0 1 0-2 0z",
} as const;

export type IconName = keyof typeof PATHS;
/** The name of an icon, or the path of one that is used once. */
export type AnyIcon = IconName | `M${string}`;

/** An icon. It is hidden from screen readers, because the text next to it, or the label of its button, has the same meaning. */
export function Icon({ name, size = 18 }: { name: AnyIcon; size?: number }) {
  return (
    <svg
      aria-hidden="true"
      focusable="false"
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      strokeWidth={1.75}
      strokeLinecap="round"
      strokeLinejoin="round"
    >
      <path d={name in PATHS ? PATHS[name as IconName] : name} />
    </svg>
  );
}
