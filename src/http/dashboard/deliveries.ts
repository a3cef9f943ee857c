import type { FastifyInstance } from "fastify";
import { z } from "zod";
import { type DeliveryView, deliveryView, printable, replayDelivery } from "../../admin/deliveries.ts";
import { clientError } from "../../domain/error.ts";
import type { Delivery as Stored } from "../../store/deliveries/types.ts";
import type { Store } from "../../store/store.ts";
import type { Deliveries, Delivery } from "./api/deliveries.ts";
import { anId } from "./authorize.ts";
import type { DashboardDependencies } from "./dependencies.ts";
import { nextOf, place } from "./pages.ts";
import { queryOf } from "./parse.ts";
import { REPLAY_BOUNDS, takeSend } from "./send-limits.ts";
import { actorOf, maySee, personOf, type SignedIn } from "./session.ts";

const DELIVERIES = "/dashboard/api/deliveries";
const PAGE = 50;

const which = z
  .strictObject({ endpoint: anId.optional(), submission: anId.optional(), before: place.optional() })
  .refine(
    ({ endpoint, submission }) => (endpoint === undefined) !== (submission === undefined),
    "endpoint or submission",
  );

/** /dashboard/api/deliveries: requests sent and their responses, including those to removed endpoints. */
export function deliveryRoutes(server: FastifyInstance, { store }: DashboardDependencies): void {
  const config = { session: "member" } as const;

  server.get(DELIVERIES, { config }, async (request): Promise<Deliveries> => {
    const { endpoint: endpointId, submission: submissionId, before } = queryOf(request, which);
    const { accountIds } = personOf(request);
    const found = await store.deliveries.list({ endpointId, submissionId, before, accountIds, max: PAGE + 1 });
    const shown = found.slice(0, PAGE);
    return { deliveries: shown.map((one) => deliveryAnswer(deliveryView(one))), next: nextOf(shown, found) };
  });

  server.post<{ Params: { id: string } }>(
    `${DELIVERIES}/:id/replay`,
    { config },
    async (request): Promise<Delivery> => {
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
  const [delivery] = anId.safeParse(id).success ? await store.deliveries.list({ max: 1, id }) : [];
  if (!delivery || !maySee(person, delivery.accountId)) throw clientError("notFound", []);
  return delivery;
}

/** Text from the receiver is displayed, so control characters are removed. */
export function deliveryAnswer({ endpoint, submission, attempts, ...view }: DeliveryView): Delivery {
  return {
    ...view,
    endpointId: endpoint,
    submissionId: submission,
    attempts: attempts.map((attempt) => ({
      ...attempt,
      error: attempt.error && printable(attempt.error),
      answer: attempt.answer && printable(attempt.answer),
    })),
  };
}
