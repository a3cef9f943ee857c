import { NativeSelect, Textarea, TextInput } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import type { SandboxStorage } from "../../../../src/domain/sandboxes/sandbox.ts";
import type { SandboxOffer, SnapshotRow } from "../../../../src/http/dashboard/api/sandboxes.ts";
import { fetchPage, MAX_OPTIONS, mutations, type NetworkOwner, queries } from "../../client/api.ts";
import { usePaginatedQuery } from "../../client/use-paginated-query.ts";
import { TableSkeleton } from "../../components/data-table.tsx";
import { Dialog } from "../../components/dialog.tsx";
import { Form, number, text } from "../../components/form.tsx";
import { size } from "../../components/format.ts";
import { LoadMoreOptions } from "../../components/load-more.tsx";
import { EmptyState, QueryBoundary } from "../../components/query-boundary.tsx";
import { useAction } from "../../components/use-action.ts";
import { metadataIn } from "./metadata-text.ts";
import css from "./sandboxes.module.css";
import { TimeFields, timesIn } from "./time-fields.tsx";

const MIB = 1_048_576;

interface Props {
  /** The snapshot whose files the sandbox begins with. */
  readonly from?: SnapshotRow;
  readonly onClose: () => void;
}

/** Creates a sandbox with a key that allows sandboxes, and shows its page. */
export function NewSandboxDialog({ from, onClose }: Props) {
  const account = from?.account.id;
  const keys = usePaginatedQuery(["/keys", "agent", account, MAX_OPTIONS], (before) =>
    fetchPage.keys({ state: "live", profile: "agent", account, before, limit: MAX_OPTIONS }),
  );
  const offer = useQuery(queries.sandboxOffer());
  return (
    <Dialog title={from ? "New sandbox from a snapshot" : "New sandbox"} onClose={onClose}>
      <QueryBoundary query={keys} placeholder={<TableSkeleton rows={6} />}>
        {(pages) => {
          const found = pages.flatMap((page) => page.keys);
          if (found.length === 0)
            return (
              <EmptyState title="No key allows sandboxes">
                A sandbox belongs to an API key with the profile <code>agent</code>. An administrator can give a key
                this profile. <Link to="/keys">API keys</Link>
              </EmptyState>
            );
          const options = found.map(({ id, name, account, project }) => ({
            value: id,
            label: `${name} (${project ? `${project.name}, ` : ""}${account.name})`,
          }));
          return (
            <QueryBoundary query={offer} placeholder={<TableSkeleton rows={6} />}>
              {(offer) => (
                <Fields
                  {...(from && { from })}
                  ownerOf={(keyId) => {
                    const key = found.find(({ id }) => id === keyId);
                    const { project, account } = key ?? {};
                    return project ? { what: "projects", id: project.id } : { what: "accounts", id: account?.id ?? "" };
                  }}
                  offer={offer}
                  onClose={onClose}
                  keys={
                    <div>
                      <NativeSelect
                        label="API key"
                        description="The sandbox belongs to this key, and counts for the quotas of its account"
                        name="key"
                        data={options}
                        data-autofocus
                      />
                      <LoadMoreOptions query={keys} shown={found.length} what="keys" />
                    </div>
                  }
                />
              )}
            </QueryBoundary>
          );
        }}
      </QueryBoundary>
    </Dialog>
  );
}

interface FieldsProps extends Props {
  readonly offer: SandboxOffer;
  /** The field for the key. */
  readonly keys: ReactNode;
  /** Whose network bound holds for sandboxes of a key. */
  readonly ownerOf: (keyId: string) => NetworkOwner;
}

function Fields({ from, offer, keys, ownerOf, onClose }: FieldsProps) {
  const navigate = useNavigate();
  const queryClient = useQueryClient();
  const [storage, setStorage] = useState<SandboxStorage>("memory");
  /** All that the bound allows. @throws Error if it allows nothing. */
  const boundOf = async (owner: NetworkOwner) => {
    const { effective, account, project } = await queryClient.query({ ...queries.network(owner), staleTime: 0 });
    if (effective === "none")
      throw new Error(`no network is open for the ${project === null ? `account ${account}` : `project ${project}`}`);
    return effective;
  };
  const creating = useAction(
    async (form: FormData) => {
      const memory = number(form, "memory");
      const files = number(form, "files");
      const limits = {
        ...(memory !== null && { memory_bytes: memory * MIB }),
        ...(storage === "disk" && { storage }),
        ...(files !== null && { disk_bytes: files * MIB }),
      };
      const keyId = text(form, "key");
      const network = text(form, "network") === "bound" ? await boundOf(ownerOf(keyId)) : undefined;
      return await mutations.createSandbox({
        keyId,
        ...timesIn(form),
        limits,
        metadata: metadataIn(String(form.get("metadata") ?? "")),
        ...(from && { from: from.id }),
        on_timeout: form.get("timeout") === "snapshot" ? "snapshot" : "end",
        ...(network && { network }),
      });
    },
    {
      toast: () => "Sandbox created.",
      done: ({ id }) => {
        onClose();
        void navigate({ to: "/sandboxes/$id", params: { id } });
      },
    },
  );
  const { lifetimeSecs, idleSecs, memoryBytes, diskBytes, diskSizes: sizes, defaultDiskSize } = offer;
  return (
    <Form
      submit="Create sandbox"
      busy={creating.isPending}
      error={creating.error}
      onCancel={onClose}
      onSubmit={(form) => creating.mutate(form)}
    >
      {from && (
        <p>
          It begins with the {size(from.bytes)} of files of the snapshot{" "}
          {from.name === null ? <code>{from.id.slice(0, 8)}</code> : <b>{from.name}</b>}.
        </p>
      )}
      {keys}
      <TimeFields offer={offer} lifetimeSecs={lifetimeSecs.default} idleSecs={idleSecs.default} />
      <div className={css.pair}>
        <TextInput
          label="Memory, in MiB"
          name="memory"
          type="number"
          required
          min={memoryBytes.least / MIB}
          max={memoryBytes.most / MIB}
          defaultValue={memoryBytes.default / MIB}
        />
        {sizes.length > 0 && (
          <NativeSelect
            label="Files"
            value={storage}
            onChange={({ currentTarget }) => setStorage(currentTarget.value === "disk" ? "disk" : "memory")}
            data={[
              { value: "memory", label: "in memory" },
              { value: "disk", label: "on a disk of its own" },
            ]}
          />
        )}
        {storage === "disk" ? (
          <NativeSelect
            key="disk"
            label="Size of the disk"
            name="files"
            defaultValue={String(defaultDiskSize / MIB)}
            data={sizes.map((bytes) => ({ value: String(bytes / MIB), label: size(bytes) }))}
          />
        ) : (
          <TextInput
            key="memory"
            label="Space for files, in MiB"
            description="Files count as memory, too"
            name="files"
            type="number"
            required
            min={diskBytes.least / MIB}
            max={diskBytes.most / MIB}
            defaultValue={diskBytes.default / MIB}
          />
        )}
      </div>
      <NativeSelect
        label="When its time is over"
        name="timeout"
        data={[
          { value: "end", label: "end it" },
          { value: "snapshot", label: "take a snapshot, then end it" },
        ]}
      />
      {offer.network && (
        <NativeSelect
          label="Network"
          description="Decided now: a sandbox that begins without a network gets none later"
          name="network"
          data={[
            { value: "none", label: "none" },
            { value: "bound", label: "all that its project may reach" },
          ]}
        />
      )}
      <Textarea label="Metadata" description="One name=value per line, to find it later" name="metadata" rows={2} />
    </Form>
  );
}
