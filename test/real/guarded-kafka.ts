import type { Engine } from "../../infra/engines/engine.ts";
import { freePorts } from "../../infra/engines/ports.ts";
import { startKafka } from "../../infra/engines/start.ts";
import type { Certificate } from "./certificate.ts";

export const USER = "loggia";

/** A password for each mechanism, so that none passes with another's. */
export const PASSWORDS = {
  plain: "Plain-Se3ret with spaces",
  "scram-sha-256": "Shorter-Se3ret+256",
  "scram-sha-512": "Longer-Se3ret+512",
} as const;

export type Mechanism = keyof typeof PASSWORDS;
export const MECHANISMS = Object.keys(PASSWORDS) as Mechanism[];

/** A Kafka with its open listener and three guarded ones; each is `host:port`. */
export type GuardedKafka = {
  readonly engine: Engine;
  /** TLS and credentials. */
  readonly guarded: string;
  /** TLS alone. */
  readonly encrypted: string;
  /** Credentials by scram-sha-256 without TLS. */
  readonly bare: string;
};

const JAAS = "org.apache.kafka.common.security";

const at = (port: number) => `127.0.0.1:${port}`;

/**
 * Starts a Kafka with guarded listeners.
 * @throws StartError that says what to install
 */
export async function startGuardedKafka({ keystore, password }: Certificate): Promise<GuardedKafka> {
  const [guarded = 0, encrypted = 0, bare = 0] = await freePorts(3);
  const scram = `${JAAS}.scram.ScramLoginModule required;`;
  const plain = `${JAAS}.plain.PlainLoginModule required user_${USER}="${PASSWORDS.plain}";`;
  const engine = await startKafka({
    extras: {
      listeners: [
        { name: "GUARDED", protocol: "SASL_SSL", port: guarded },
        { name: "ENCRYPTED", protocol: "SSL", port: encrypted },
        { name: "BARE", protocol: "SASL_PLAINTEXT", port: bare },
      ],
      properties: {
        "ssl.keystore.type": "PKCS12",
        "ssl.keystore.location": keystore,
        "ssl.keystore.password": password,
        "listener.name.guarded.sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
        "listener.name.guarded.plain.sasl.jaas.config": plain,
        "listener.name.guarded.scram-sha-256.sasl.jaas.config": scram,
        "listener.name.guarded.scram-sha-512.sasl.jaas.config": scram,
        "listener.name.bare.sasl.enabled.mechanisms": "SCRAM-SHA-256",
        "listener.name.bare.scram-sha-256.sasl.jaas.config": scram,
      },
      scram: [
        `SCRAM-SHA-256=[name=${USER},password=${PASSWORDS["scram-sha-256"]}]`,
        `SCRAM-SHA-512=[name=${USER},password=${PASSWORDS["scram-sha-512"]}]`,
      ],
    },
  });
  return { engine, guarded: at(guarded), encrypted: at(encrypted), bare: at(bare) };
}
