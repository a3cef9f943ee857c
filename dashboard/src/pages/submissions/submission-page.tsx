import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { RunView } from "../../run/run-view.tsx";

const route = getRouteApi("/inside/submissions/$id");

/** The page of one submission. The open tab is in the URL. */
export function SubmissionPage() {
  const { id } = route.useParams();
  const { tab } = route.useSearch();
  const navigate = useNavigate();
  const onTab = (next: string) =>
    navigate({ to: "/submissions/$id", params: { id }, search: { tab: next }, replace: true, resetScroll: false });
  return <RunView id={id} layout="page" tab={tab} onTab={onTab} />;
}
