import { NativeSelect } from "@mantine/core";
import type { Key } from "../../../src/http/dashboard/answers.ts";
import { change } from "../api.ts";
import { Dialog } from "../pieces/dialog.tsx";
import { useDoing } from "../pieces/doing.ts";
import { Form, text } from "../pieces/form.tsx";
import { KeySecret } from "./key-secret.tsx";

const HOUR_MS = 3_600_000;
const OVERLAPS = [
  { label: "no overlap: the old key ends now", ms: 0 },
  { label: "1 hour", ms: HOUR_MS },
  { label: "1 day", ms: 24 * HOUR_MS },
  { label: "7 days", ms: 7 * 24 * HOUR_MS },
  { label: "30 days", ms: 30 * 24 * HOUR_MS },
];

export function Rotate({ of: key, onClose }: { of: Key; onClose: () => void }) {
  const rotating = useDoing((overlapMs: number) => change.rotateKey(key.id, { overlapMs }));
  if (rotating.data) return <KeySecret made={rotating.data} title="The successor is made" onClose={onClose} />;
  return (
    <Dialog title={`Rotate ${key.name}`} onClose={onClose}>
      <Form
        submit="Rotate"
        busy={rotating.isPending}
        error={rotating.error}
        onCancel={onClose}
        onSubmit={(form) => rotating.mutate(Number(text(form, "overlap")))}
      >
        <p>
          A successor with the same limits is made and shown once. The old key goes on beside it for the overlap, so
          that callers can change over without a gap.
        </p>
        <NativeSelect
          label="Overlap"
          name="overlap"
          defaultValue={String(24 * HOUR_MS)}
          data={OVERLAPS.map(({ label, ms }) => ({ label, value: String(ms) }))}
        />
      </Form>
    </Dialog>
  );
}
