import { Button } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import type { SubmissionDetail } from "../../../src/http/dashboard/api/submissions.ts";
import { mutations } from "../client/api.ts";
import { copy } from "../components/copyable.tsx";
import { toast } from "../components/toaster.tsx";
import { useAction } from "../components/use-action.ts";
import css from "./run-view.module.css";
import { isOpen } from "./use-live-run.ts";

interface Props {
  readonly of: SubmissionDetail;
  readonly layout: "page" | "panel" | "playground";
}

/** The buttons for a run: one that stops it or runs it again, and those that share it or open it on another page. */
export function RunActions({ of: detail, layout }: Props) {
  const { id, account } = detail.row;
  const navigate = useNavigate();
  const stop = useAction(() => mutations.cancelSubmission(id));
  const again = useMutation({
    mutationFn: () => mutations.again(id),
    onSuccess: (accepted) => {
      toast("The program runs again: this is the new submission.");
      return navigate({ to: "/submissions/$id", params: { id: accepted.id } });
    },
    onError: ({ message }) => toast(`Not run again: ${message}.`, "bad"),
  });
  if (layout === "playground")
    return (
      <>
        {isOpen(detail) && <Stop action={stop} />}
        <Button
          variant="default"
          size="compact-sm"
          title={`Copies a link. Members of ${account.name} and administrators can open it.`}
          onClick={() => copy(`${window.location.origin}/dashboard/submissions/${id}`, "link to the submission")}
        >
          Share
        </Button>
        <OpenPage id={id} />
      </>
    );
  return (
    <>
      {isOpen(detail) ? (
        <Stop action={stop} />
      ) : (
        <Button variant="default" size="compact-sm" loading={again.isPending} onClick={() => again.mutate()}>
          Run again
        </Button>
      )}
      <Button
        renderRoot={(props) => <Link to="/playground" search={{ from: id }} {...props} />}
        className={css.button}
        variant="default"
        size="compact-sm"
      >
        Open in the playground
      </Button>
      {layout === "panel" && <OpenPage id={id} />}
    </>
  );
}

function Stop({ action }: { action: { readonly isPending: boolean; readonly mutate: () => void } }) {
  return (
    <Button variant="default" color="red" size="compact-sm" loading={action.isPending} onClick={() => action.mutate()}>
      Stop
    </Button>
  );
}

function OpenPage({ id }: { id: string }) {
  return (
    <Button
      renderRoot={(props) => <Link to="/submissions/$id" params={{ id }} {...props} />}
      className={css.button}
      variant="default"
      size="compact-sm"
    >
      Open page
    </Button>
  );
}
