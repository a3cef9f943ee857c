import { Combobox, TextInput, useCombobox, useMantineColorScheme } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { fetchPage, MAX_OPTIONS } from "../client/api.ts";
import { signOut, usePerson } from "../client/session.ts";
import { Dialog } from "../components/dialog.tsx";
import { type AnyIcon, Icon, type IconName } from "../components/icon.tsx";
import { toast } from "../components/toaster.tsx";
import { Verdict } from "../components/verdict.tsx";
import css from "./command-palette.module.css";
import { useNavigationItems } from "./navigation.ts";

/** The greatest number of matches that are listed in each group. */
const MOST = 6;
const PAUSE_MS = 150;
/** Matches a text that can be the beginning of an id. */
const OF_AN_ID = /^[0-9a-f]{4,8}(-[0-9a-f-]*)?$/i;

type Made = "key" | "project" | "shortcuts";

interface Props {
  readonly onClose: () => void;
  /** Opens the dialog for a new key, a new project, or the shortcuts. */
  readonly onMake: (made: Made) => void;
}

interface Choice {
  readonly id: string;
  readonly group: string;
  readonly icon: AnyIcon;
  readonly label: React.ReactNode;
  /** The text in which the typed words are searched. */
  readonly keywords: string;
  readonly act: () => unknown;
}

/** A dialog that finds a page, a submission, a judgement, a problem, a project or a key, or starts an action. */
export default function CommandPalette({ onClose, onMake }: Props) {
  const [text, setText] = useState("");
  const [searchText] = useDebouncedValue(text.trim(), PAUSE_MS);
  const combobox = useCombobox({ opened: true, onDropdownClose: onClose });
  const found = useFound(searchText);
  const choices = [...found, ...useNamed(), ...useActions(onMake), ...usePages()];
  const shown = matching(choices, text);
  const order = shown.map(({ id }) => id).join();
  // biome-ignore lint/correctness/useExhaustiveDependencies: the first of each new list
  useEffect(() => {
    combobox.selectFirstOption();
  }, [order]);
  const submit = (id: string) => {
    onClose();
    shown.find((choice) => choice.id === id)?.act();
  };
  const groups = Map.groupBy(shown, ({ group }) => group);
  return (
    <Dialog title="Go to" onClose={onClose}>
      <Combobox store={combobox} onOptionSubmit={submit}>
        <Combobox.EventsTarget withExpandedAttribute>
          <TextInput
            role="combobox"
            aria-label="Page, id, name or action"
            placeholder="Page, id, name or action"
            value={text}
            onChange={({ currentTarget }) => setText(currentTarget.value)}
            data-autofocus
            spellCheck={false}
            autoComplete="off"
            maxLength={100}
          />
        </Combobox.EventsTarget>
        <Combobox.Options aria-label="Matches" className={css.list}>
          {[...groups].map(([group, members]) => (
            <Combobox.Group key={group} label={group}>
              {members.map(({ id, icon, label }) => (
                <Combobox.Option key={id} value={id} className={css.option}>
                  <Icon name={icon} size={16} />
                  <span className={css.label}>{label}</span>
                </Combobox.Option>
              ))}
            </Combobox.Group>
          ))}
          {shown.length === 0 && <Combobox.Empty>No match</Combobox.Empty>}
        </Combobox.Options>
      </Combobox>
    </Dialog>
  );
}

/** The submissions and judgements whose ids begin with the text, as the service finds them. */
function useFound(searchText: string): Choice[] {
  const navigate = useNavigate();
  const isAnId = OF_AN_ID.test(searchText);
  const runs = useQuery({
    queryKey: ["palette", "/submissions", searchText],
    queryFn: () => fetchPage.submissions({ id: searchText }, undefined, MOST),
    enabled: isAnId,
    retry: false,
  });
  const judged = useQuery({
    queryKey: ["palette", "/judgements", searchText],
    queryFn: () => fetchPage.judgements({ id: searchText, limit: MOST }),
    enabled: isAnId,
    retry: false,
  });
  if (!isAnId) return [];
  return [
    ...(runs.data?.submissions ?? []).map(
      (row): Choice => ({
        ...{ id: row.id, group: "Submissions", icon: "list", keywords: row.id },
        label: (
          <>
            <code>{row.id.slice(0, 13)}…</code> {row.language} <Verdict of={row} />
          </>
        ),
        act: () => navigate({ to: "/submissions/$id", params: { id: row.id } }),
      }),
    ),
    ...(judged.data?.judgements ?? []).map(
      (row): Choice => ({
        ...{ id: row.id, group: "Judgements", icon: "judge", keywords: row.id },
        label: (
          <>
            <code>{row.id.slice(0, 13)}…</code> {row.language} <Verdict of={row} />
          </>
        ),
        act: () => navigate({ to: "/judgements/$id", params: { id: row.id } }),
      }),
    ),
  ];
}

/** The newest projects, keys and problems. */
function useNamed(): Choice[] {
  const navigate = useNavigate();
  const options = { staleTime: 30_000, retry: false };
  const projects = useQuery({
    queryKey: ["palette", "/projects"],
    queryFn: () => fetchPage.projects("open", undefined, MAX_OPTIONS),
    ...options,
  });
  const keys = useQuery({
    queryKey: ["palette", "/keys"],
    queryFn: () => fetchPage.keys({ state: "any", limit: MAX_OPTIONS }),
    ...options,
  });
  const problems = useQuery({
    queryKey: ["palette", "/problems"],
    queryFn: () => fetchPage.problems(undefined, undefined, MAX_OPTIONS),
    ...options,
  });
  return [
    ...(projects.data?.projects ?? []).map(
      ({ id, name }): Choice => ({
        ...{ id, group: "Projects", icon: "projects", label: name, keywords: name },
        act: () => navigate({ to: "/projects/$id", params: { id } }),
      }),
    ),
    ...(keys.data?.keys ?? []).map(
      ({ id, name }): Choice => ({
        ...{ id, group: "Submissions of a key", icon: "key", label: name, keywords: name },
        act: () => navigate({ to: "/submissions", search: { key: id } }),
      }),
    ),
    ...(problems.data?.problems ?? []).map(
      ({ id, name, title }): Choice => ({
        ...{ id, group: "Problems", icon: "problem", label: title, keywords: `${name} ${title}` },
        act: () => navigate({ to: "/problems/$id", params: { id } }),
      }),
    ),
  ];
}

function usePages(): Choice[] {
  const navigate = useNavigate();
  const { administrator } = usePerson();
  const items = useNavigationItems(administrator);
  return [...items, { icon: "person", label: "My profile", to: "/profile" } as const].map(({ icon, label, to }) => ({
    ...{ id: to, group: "Pages", icon, label, keywords: label },
    act: () => navigate({ to }),
  }));
}

function useActions(onMake: Props["onMake"]): Choice[] {
  const navigate = useNavigate();
  // Without this option, Mantine suspends transitions by a style element, which the Content-Security-Policy forbids.
  const { colorScheme, setColorScheme } = useMantineColorScheme({ keepTransitions: true });
  const isDark = colorScheme === "dark";
  const action = (id: string, icon: IconName, label: string, act: Choice["act"]): Choice => ({
    ...{ id, group: "Actions", icon, label, keywords: label, act },
  });
  return [
    action("run", "play", "Run code", () => navigate({ to: "/playground", search: {} })),
    action("new-key", "key", "New key", () => onMake("key")),
    action("new-project", "projects", "New project", () => onMake("project")),
    action("theme", isDark ? "sun" : "moon", isDark ? "Light theme" : "Dark theme", () =>
      setColorScheme(isDark ? "light" : "dark"),
    ),
    action("shortcuts", "list", "Keyboard shortcuts", () => onMake("shortcuts")),
    action("sign-out", "leave", "Sign out", () =>
      signOut().catch(({ message }: Error) => toast(`Not signed out: ${message}`, "bad")),
    ),
  ];
}

/** The choices that contain all typed words, at most MOST of each group. If nothing is typed, all pages and actions. */
function matching(choices: readonly Choice[], text: string): readonly Choice[] {
  const keywords = text.trim().toLowerCase().split(/\s+/).filter(Boolean);
  if (keywords.length === 0) return choices.filter(({ group }) => group === "Pages" || group === "Actions");
  const found = choices.filter((choice) => keywords.every((word) => choice.keywords.toLowerCase().includes(word)));
  return [...Map.groupBy(found, ({ group }) => group).values()].flatMap((alike) => alike.slice(0, MOST));
}
