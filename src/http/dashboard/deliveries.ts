import { z } from "zod";
import { type DeliveryView, deliveryView, printable, replayDelivery } from "../../admin/deliveries.ts";
import type { Headers } from "../../domain/delivery.ts";
import { clientError } from "../../domain/error.ts";
import type { Delivery as Stored } from "../../store/deliveries/types.ts";
import type { Store } from "../../store/store.ts";
import type { Deliveries, DeliveryResource, SentBody } from "./api/deliveries.ts";
import { idText } from "./authorize.ts";
import { cursor, nextOf } from "./pagination.ts";
import { type DashboardRoute, dashboardRoute } from "./route.ts";
import { REPLAY_BOUNDS, takeSend } from "./send-limits.ts";
import { maySee, type SignedIn } from "./session.ts";

const PAGE = 50;

/** The most bytes of a delivery's body that are displayed. */
const BODY_BYTES = 65_536;
/** The most bytes of the record from which the body is made. */
const RECORD_BYTES = 4 * 1_048_576;

const deliveriesQuery = z
  .strictObject({ endpoint: idText.optional(), submission: idText.optional(), before: cursor.optional() })
  .refine(
    ({ endpoint, submission }) => (endpoint === undefined) !== (submission === undefined),
    "endpoint or submission",
  );

/** /dashboard/api/deliveries: the deliveries, including those to removed endpoints, with their requests and responses. */
export const deliveryRoutes: readonly DashboardRoute[] = [
  dashboardRoute({
    method: "get",
    path: "/deliveries",
    session: "member",
    query: deliveriesQuery,
    handler:
      ({ dependencies: { store } }) =>
      async ({
        person: { accountIds },
        query: { endpoint: endpointId, submission: submissionId, before },
      }): Promise<Deliveries> => {
        const found = await store.deliveries.list({ endpointId, submissionId, before, accountIds, max: PAGE + 1 });
        const shown = found.slice(0, PAGE);
        return { deliveries: shown.map((one) => deliveryAnswer(deliveryView(one))), next: nextOf(shown, found) };
      },
  }),
  dashboardRoute({
    method: "get",
    path: "/deliveries/{id}/body",
    session: "member",
    handler:
      ({ dependencies: { store, bodyBegin }, answers }) =>
      async ({ request, reply, person, owner, path }): Promise<SentBody> => {
        const { id } = await ownDelivery(store, person, path.id);
        await answers.admitFor(owner, request, reply)(RECORD_BYTES);
        const message = await store.deliveries.message({ id });
        if (!message) return { text: null, isCut: false };
        const { begin, isCut } = bodyBegin(message, BODY_BYTES);
        return { text: printable(new TextDecoder().decode(begin, { stream: isCut })), isCut };
      },
  }),
  dashboardRoute({
    method: "post",
    path: "/deliveries/{id}/replay",
    session: "member",
    handler:
      ({ dependencies: { store } }) =>
      async ({ person, actor, path }): Promise<DeliveryResource> => {
        const { id, accountId } = await ownDelivery(store, person, path.id);
        await takeSend(store, "replays", accountId);
        const replayed = await replayDelivery(store, id, actor, REPLAY_BOUNDS);
        return deliveryAnswer(deliveryView(await ownDelivery(store, person, replayed)));
      },
  }),
];

/** @throws ClientError notFound. */
async function ownDelivery(store: Store, person: SignedIn, id: string): Promise<Stored> {
  const [delivery] = idText.safeParse(id).success ? await store.deliveries.list({ max: 1, id }) : [];
  if (!delivery || !maySee(person, delivery.accountId)) throw clientError("notFound", []);
  return delivery;
}

/** Converts a delivery. Control characters are removed from the receiver's texts, because the dashboard displays them. */
export function deliveryAnswer({ endpoint, submission, attempts, ...view }: DeliveryView): DeliveryResource {
  return {
    ...view,
    endpointId: endpoint,
    submissionId: submission,
    attempts: attempts.map((attempt) => ({
      ...attempt,
      error: attempt.error && printable(attempt.error),
      answer: attempt.answer && printable(attempt.answer),
      sentHeaders: shown(attempt.sentHeaders),
      answerHeaders: shown(attempt.answerHeaders),
    })),
  };
}

function shown(headers: Headers | null): Headers | null {
  return headers?.map(([name, value]) => [printable(name), printable(value)] as const) ?? null;
}
