import type { FastifyInstance } from "fastify";
import { z } from "zod";
import { type DeliveryView, deliveryView, printable, replayDelivery } from "../../admin/deliveries.ts";
import type { Headers } from "../../domain/delivery.ts";
import { clientError } from "../../domain/error.ts";
import type { Delivery as Stored } from "../../store/deliveries/types.ts";
import type { Store } from "../../store/store.ts";
import { ownerOf } from "../access/caller.ts";
import type { LongAnswers } from "../responses/long-answers.ts";
import type { Deliveries, DeliveryResource, SentBody } from "./api/deliveries.ts";
import { idText } from "./authorize.ts";
import type { DashboardDependencies } from "./dependencies.ts";
import { cursor, nextOf } from "./pages.ts";
import { queryOf } from "./parse.ts";
import { REPLAY_BOUNDS, takeSend } from "./send-limits.ts";
import { actorOf, maySee, personOf, type SignedIn } from "./session.ts";

const DELIVERIES = "/dashboard/api/deliveries";
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
export function deliveryRoutes(
  server: FastifyInstance,
  { store, bodyBegin }: DashboardDependencies,
  answers: LongAnswers,
): void {
  const config = { session: "member" } as const;

  server.get(DELIVERIES, { config }, async (request): Promise<Deliveries> => {
    const { endpoint: endpointId, submission: submissionId, before } = queryOf(request, deliveriesQuery);
    const { accountIds } = personOf(request);
    const found = await store.deliveries.list({ endpointId, submissionId, before, accountIds, max: PAGE + 1 });
    const shown = found.slice(0, PAGE);
    return { deliveries: shown.map((one) => deliveryAnswer(deliveryView(one))), next: nextOf(shown, found) };
  });

  server.get<{ Params: { id: string } }>(
    `${DELIVERIES}/:id/body`,
    { config },
    async (request, reply): Promise<SentBody> => {
      const { id } = await ownDelivery(store, personOf(request), request.params.id);
      await answers.admitFor(ownerOf(request), request, reply)(RECORD_BYTES);
      const message = await store.deliveries.message({ id });
      if (!message) return { text: null, isCut: false };
      const { begin, isCut } = bodyBegin(message, BODY_BYTES);
      return { text: printable(new TextDecoder().decode(begin, { stream: isCut })), isCut };
    },
  );

  server.post<{ Params: { id: string } }>(
    `${DELIVERIES}/:id/replay`,
    { config },
    async (request): Promise<DeliveryResource> => {
      const person = personOf(request);
      const { id, accountId } = await ownDelivery(store, person, request.params.id);
      await takeSend(store, "replays", accountId);
      const replayed = await replayDelivery(store, id, actorOf(request), REPLAY_BOUNDS);
      return deliveryAnswer(deliveryView(await ownDelivery(store, person, replayed)));
    },
  );
}

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
