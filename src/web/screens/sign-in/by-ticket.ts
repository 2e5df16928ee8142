import { ApiFault } from "../../parts/api/client.ts";
import type { App } from "../../state/app.ts";

/** Removes a ticket from the address and signs in by it or by a session. @throws ApiFault */
export async function signInByTicket({ session, location }: App, ticket: string): Promise<void> {
  const { parameters, ...place } = location.place.peek();
  location.amend({ ...place, parameters: new Map([...parameters].filter(([name]) => name !== "ticket")) });
  try {
    await session.signIn({ ticket });
  } catch (error) {
    // A ticket is valid once and briefly; the person may be signed in anyway.
    if (!(error instanceof ApiFault) || error.status === 0) throw error;
    await session.open();
  }
}
