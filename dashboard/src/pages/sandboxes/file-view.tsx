import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { addressOf, queries } from "../../client/api.ts";
import { TableSkeleton } from "../../components/data-table.tsx";
import { readInput } from "../../components/editor/printable-text.ts";
import { Viewer } from "../../components/editor/viewer.tsx";
import { size } from "../../components/format.ts";
import { PlainText } from "../../components/program-text.tsx";
import { QueryBoundary } from "../../components/query-boundary.tsx";
import run from "../../run/run-view.module.css";
import css from "./sandboxes.module.css";

interface Props {
  readonly sandboxId: string;
  readonly path: string;
  readonly onClose: () => void;
}

/** The beginning of a file, as text. */
export function FileView({ sandboxId, path, onClose }: Props) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus(), []);
  const query = useQuery({ ...queries.fileText(sandboxId, path), staleTime: 0 });
  const download = addressOf(`/sandboxes/${sandboxId}/files/content`, { path });
  return (
    <section className={css.execution} aria-label={`File ${path}`}>
      <div className={css.head}>
        <h3 ref={heading} tabIndex={-1}>
          <PlainText text={path} />
        </h3>
        <Button variant="default" size="compact-sm" onClick={onClose}>
          Close
        </Button>
      </div>
      <QueryBoundary query={query} placeholder={<TableSkeleton rows={4} />}>
        {({ info, text, isCut }) =>
          text === null ? (
            <p className={css.facts}>
              This file is not text. <a href={download}>Download {size(info.bytes)}</a>
            </p>
          ) : text === "" ? (
            <p className={css.facts}>This file is empty.</p>
          ) : (
            <div className={run.pane}>
              <Viewer
                head={isCut ? `The beginning of ${size(info.bytes)}` : size(info.bytes)}
                label="File"
                text={readInput(text)}
                original={text}
                download={download}
              />
            </div>
          )
        }
      </QueryBoundary>
    </section>
  );
}
