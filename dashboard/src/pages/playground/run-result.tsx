import { RunView } from "../../run/run-view.tsx";

/** The run of the playground; a message leads to its line in the editor. */
export function RunResult({ id, onLineChosen }: { id: string; onLineChosen: (line: number) => void }) {
  return <RunView id={id} layout="playground" onLineChosen={onLineChosen} />;
}
