import { TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import type { SandboxDetail } from "../../../../src/http/dashboard/api/sandboxes.ts";
import { mutations, queries } from "../../client/api.ts";
import { TableSkeleton } from "../../components/data-table.tsx";
import { Dialog } from "../../components/dialog.tsx";
import { Form, text } from "../../components/form.tsx";
import { QueryBoundary } from "../../components/query-boundary.tsx";
import { toast } from "../../components/toaster.tsx";
import { useAction } from "../../components/use-action.ts";
import { TimeFields, timesIn } from "./time-fields.tsx";

interface Props {
  readonly of: SandboxDetail;
  readonly onClose: () => void;
}

export function TimesDialog({ of: { row, lifetimeSecs, idleSecs }, onClose }: Props) {
  const offer = useQuery(queries.sandboxOffer());
  const changing = useAction((form: FormData) => mutations.sandboxTimes(row.id, timesIn(form)), {
    toast: () => "Times changed.",
    done: onClose,
  });
  return (
    <Dialog title="Change the times" onClose={onClose}>
      <Form
        submit="Change times"
        busy={changing.isPending}
        error={changing.error}
        onCancel={onClose}
        onSubmit={(form) => changing.mutate(form)}
      >
        <p>The lifetime counts from the start of the sandbox. If the new one is over already, the sandbox ends.</p>
        <QueryBoundary query={offer} placeholder={<TableSkeleton rows={2} />}>
          {(offer) => <TimeFields offer={offer} lifetimeSecs={lifetimeSecs} idleSecs={idleSecs} />}
        </QueryBoundary>
      </Form>
    </Dialog>
  );
}

export function SnapshotDialog({ of: { row }, onClose }: Props) {
  const taking = useAction((form: FormData) => mutations.takeSnapshot(row.id, { name: text(form, "name") || null }), {
    done: () => {
      toast("Snapshot taken: it is in the list of snapshots.");
      onClose();
    },
  });
  return (
    <Dialog title="Take a snapshot" onClose={onClose}>
      <Form
        submit="Take snapshot"
        busy={taking.isPending}
        error={taking.error}
        onCancel={onClose}
        onSubmit={(form) => taking.mutate(form)}
      >
        <p>
          It stores the files of the home directory and of <code>/tmp</code>. All programs stand still until they are
          read. New sandboxes can begin with them.
        </p>
        <TextInput label="Name" description="Optional" name="name" data-autofocus maxLength={128} autoComplete="off" />
      </Form>
    </Dialog>
  );
}
