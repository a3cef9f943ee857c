import { RunView } from "../../run/run-view.tsx";

/** The last run of the playground. @param onLineChosen Called when a person chooses a message about a line of the source. */
export function RunResult({ id, onLineChosen }: { id: string; onLineChosen: (line: number) => void }) {
  return <RunView id={id} layout="playground" onLineChosen={onLineChosen} />;
}
