import { Button } from "@mantine/core";
import { useState } from "react";
import type { FileInfo } from "../../../../src/domain/sandboxes/files.ts";
import { addressOf, fetchPage, mutations } from "../../client/api.ts";
import { usePaginatedQuery } from "../../client/use-paginated-query.ts";
import { ConfirmButton } from "../../components/confirm-button.tsx";
import { type Column, DataTable, TableSkeleton } from "../../components/data-table.tsx";
import { size } from "../../components/format.ts";
import { LoadMore } from "../../components/load-more.tsx";
import { PlainText } from "../../components/program-text.tsx";
import { EmptyState, QueryBoundary } from "../../components/query-boundary.tsx";
import { Timestamp } from "../../components/timestamp.tsx";
import { DirectoryDialog, RenameDialog, UploadDialog } from "./file-dialogs.tsx";
import { nameOf } from "./file-name.ts";
import { FileView } from "./file-view.tsx";
import css from "./files.module.css";

/** The home of the user in a sandbox, where a person begins. */
const HOME = "/home/user";

interface Props {
  readonly sandboxId: string;
  readonly isPaused: boolean;
}

type Open = { readonly dialog: "upload" | "directory" } | { readonly dialog: "rename"; readonly path: string };

/** The directories and files of a sandbox that lives. */
export function Files({ sandboxId, isPaused }: Props) {
  const [directory, setDirectory] = useState(HOME);
  const [viewed, view] = useState<string>();
  const [open, setOpen] = useState<Open>();
  const close = () => setOpen(undefined);
  const go = (path: string) => {
    setDirectory(path);
    view(undefined);
  };
  if (isPaused) return <p className={css.hint}>The files of a paused sandbox cannot be read. Resume it first.</p>;
  return (
    <>
      <div className={css.bar}>
        <Path of={directory} onGo={go} />
        <div className={css.actions}>
          <Button variant="default" size="sm" onClick={() => setOpen({ dialog: "directory" })}>
            New directory
          </Button>
          <Button variant="default" size="sm" onClick={() => setOpen({ dialog: "upload" })}>
            Upload a file
          </Button>
        </div>
      </div>
      <Directory
        key={directory}
        sandboxId={sandboxId}
        directory={directory}
        onGo={go}
        onView={view}
        onRename={(path) => setOpen({ dialog: "rename", path })}
        onUpload={() => setOpen({ dialog: "upload" })}
      />
      {viewed !== undefined && (
        <FileView key={viewed} sandboxId={sandboxId} path={viewed} onClose={() => view(undefined)} />
      )}
      {open?.dialog === "upload" && <UploadDialog sandboxId={sandboxId} directory={directory} onClose={close} />}
      {open?.dialog === "directory" && <DirectoryDialog sandboxId={sandboxId} directory={directory} onClose={close} />}
      {open?.dialog === "rename" && <RenameDialog sandboxId={sandboxId} path={open.path} onClose={close} />}
    </>
  );
}

/** The directory, with a button for each one above it. */
function Path({ of: directory, onGo }: { of: string; onGo: (path: string) => void }) {
  const names = directory.split("/").filter((name) => name !== "");
  const parts = [
    { name: "/", path: "/" },
    ...names.map((name, i) => ({ name, path: `/${names.slice(0, i + 1).join("/")}` })),
  ];
  return (
    <nav aria-label="Directory">
      <ol className={css.path}>
        {parts.map(({ name, path }) => (
          <li key={path}>
            <Button
              variant="subtle"
              size="compact-sm"
              aria-current={path === directory ? "page" : undefined}
              onClick={() => onGo(path)}
            >
              <PlainText text={name} />
            </Button>
          </li>
        ))}
      </ol>
    </nav>
  );
}

interface DirectoryProps {
  readonly sandboxId: string;
  readonly directory: string;
  readonly onGo: (path: string) => void;
  readonly onView: (path: string) => void;
  readonly onRename: (path: string) => void;
  readonly onUpload: () => void;
}

function Directory({ sandboxId, directory, onGo, onView, onRename, onUpload }: DirectoryProps) {
  const list = usePaginatedQuery(["/sandboxes/files", sandboxId, directory], (after) =>
    fetchPage.files(sandboxId, directory, after),
  );
  const columns: readonly Column<FileInfo>[] = [
    {
      head: "Name",
      cell: (file) => (
        <span className={css.name}>
          <Button
            variant="subtle"
            size="compact-sm"
            onClick={() => (file.type === "directory" ? onGo(file.path) : onView(file.path))}
            disabled={file.type === "other"}
          >
            <PlainText text={nameOf(file.path) + (file.type === "directory" ? "/" : "")} />
          </Button>
          {file.target !== undefined && (
            <span className={css.target}>
              link to <PlainText text={file.target} />
            </span>
          )}
        </span>
      ),
    },
    { head: "Size", number: true, cell: ({ type, bytes }) => type === "file" && size(bytes) },
    { head: "Changed", cell: ({ modifiedAtMs }) => <Timestamp at={timeOf(modifiedAtMs)} never="not known" /> },
    { head: "Permissions", cell: ({ mode }) => <code>{mode.toString(8).padStart(3, "0")}</code> },
    {
      head: "Actions",
      headUnseen: true,
      cell: (file) => (
        <span className={css.rowActions}>
          {file.type === "file" && (
            <Button
              component="a"
              variant="default"
              size="compact-sm"
              href={addressOf(`/sandboxes/${sandboxId}/files/content`, { path: file.path })}
              download
              aria-label={`Download ${nameOf(file.path)}`}
            >
              Download
            </Button>
          )}
          <Button
            variant="default"
            size="compact-sm"
            aria-label={`Rename ${nameOf(file.path)}`}
            onClick={() => onRename(file.path)}
          >
            Rename
          </Button>
          <RemoveButton sandboxId={sandboxId} file={file} />
        </span>
      ),
    },
  ];
  return (
    <QueryBoundary query={list} placeholder={<TableSkeleton rows={3} />}>
      {(pages) => {
        const files = pages.flatMap(({ entries }) => entries);
        return (
          <>
            {files.length === 0 ? (
              <EmptyState title="This directory is empty">
                <Button variant="default" size="compact-sm" onClick={onUpload}>
                  Upload a first file
                </Button>
              </EmptyState>
            ) : (
              <DataTable caption={`Files of ${directory}`} columns={columns} rows={files} rowKey={({ path }) => path} />
            )}
            <LoadMore query={list} />
            <p className={css.hint}>
              Programs change files at any time.{" "}
              <Button variant="subtle" size="compact-xs" loading={list.isRefetching} onClick={() => list.refetch()}>
                Read the directory again
              </Button>
            </p>
          </>
        );
      }}
    </QueryBoundary>
  );
}

function RemoveButton({ sandboxId, file: { path, type } }: { sandboxId: string; file: FileInfo }) {
  const isDirectory = type === "directory";
  return (
    <ConfirmButton
      label="Remove"
      submit={isDirectory ? "Remove directory" : "Remove file"}
      title={isDirectory ? "Remove this directory?" : "Remove this file?"}
      act={() => mutations.removeFile(sandboxId, { path, recursive: isDirectory })}
      successMessage={isDirectory ? "Directory removed." : "File removed."}
      ariaLabel={`Remove ${nameOf(path)}`}
    >
      <code className={css.whole}>
        <PlainText text={path} />
      </code>{" "}
      {isDirectory && "is removed with everything in it. "}This cannot be undone.
    </ConfirmButton>
  );
}

/** Programs can set times that no date has. */
function timeOf(ms: number): string | null {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? null : date.toISOString();
}
