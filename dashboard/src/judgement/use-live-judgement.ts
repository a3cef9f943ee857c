import type { JudgementDetail, JudgementState } from "../../../src/http/dashboard/api/judgements.ts";
import { queries } from "../client/api.ts";
import { useLiveState } from "../client/use-live-state.ts";

/** The query of a judgement. Its data is updated until the judgement has ended. */
export function useLiveJudgement(id: string) {
  return useLiveState<JudgementDetail, JudgementState>({
    query: queries.judgement(id),
    path: `/judgements/${encodeURIComponent(id)}/live`,
    isOpen,
    topics: ["runs"],
    merge: (known, state) => known && { ...known, ...state },
  });
}

export function isOpen({ row }: JudgementState): boolean {
  return row.status === "pending" || row.status === "running";
}
