import { NativeSelect, TextInput } from "@mantine/core";
import { useState } from "react";
import { mutations } from "../../client/api.ts";
import { Dialog } from "../../components/dialog.tsx";
import { Form, text } from "../../components/form.tsx";
import { counted } from "../../components/format.ts";
import { useAction } from "../../components/use-action.ts";
import css from "./replay-failed-dialog.module.css";

const HOUR_MS = 3_600_000;
const RANGES = [
  { value: "", label: "All" },
  { value: String(HOUR_MS), label: "Last hour" },
  { value: String(24 * HOUR_MS), label: "Last 24 hours" },
  { value: String(7 * 24 * HOUR_MS), label: "Last 7 days" },
  { value: "custom", label: "From … until …" },
];

/** A dialog to send results again whose newest delivery failed: all of them, or those from a range of time. */
export function ReplayFailedDialog({ id, onClose }: { id: string; onClose: () => void }) {
  const [range, choose] = useState("");
  const replaying = useAction((form: FormData) => mutations.replayFailed(id, timesIn(form, range)), {
    toast: ({ replayed, more }) => {
      if (replayed === 0) return "No failed delivery to replay.";
      return `Replaying ${counted(replayed, "delivery", "deliveries")}${more ? "; repeat for the rest" : ""}.`;
    },
    done: onClose,
  });
  return (
    <Dialog title="Replay failed deliveries" onClose={onClose}>
      <Form
        submit="Replay deliveries"
        busy={replaying.isPending}
        error={replaying.error}
        onCancel={onClose}
        onSubmit={(form) => replaying.mutate(form)}
      >
        <p>
          This sends up to 500 results again, oldest first: those whose newest delivery to this endpoint failed. Results
          with a pending delivery are skipped.
        </p>
        <NativeSelect
          label="Deliveries created"
          data={RANGES}
          value={range}
          onChange={({ currentTarget }) => choose(currentTarget.value)}
        />
        {range === "custom" && (
          <div className={css.pair}>
            <TextInput label="From" name="since" type="datetime-local" required />
            <TextInput label="Until" name="until" type="datetime-local" />
          </div>
        )}
      </Form>
    </Dialog>
  );
}

function timesIn(form: FormData, range: string) {
  if (range === "") return {};
  if (range !== "custom") return { since: new Date(Date.now() - Number(range)).toISOString() };
  const iso = (name: string) => new Date(text(form, name)).toISOString();
  return { since: iso("since"), ...(text(form, "until") !== "" && { until: iso("until") }) };
}
