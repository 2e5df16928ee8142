import { certificateFault } from "../../errors.ts";
import { kafkaErrorKind, kafkaReason, type KafkaConnection } from "./client.ts";

/**
 * Returns why a first connection failed, in one line without secrets. A broker that expects another
 * protocol just closes the connection, so the line names the settings that are not set.
 */
export function openFailure(error: unknown, { tls, sasl }: Pick<KafkaConnection, "tls" | "sasl">): string {
  const reason = kafkaReason(error).replaceAll("\n", " ");
  switch (kafkaErrorKind(error)) {
    case "KafkaJSSASLAuthenticationError":
    case "SASL_AUTHENTICATION_FAILED":
      return `it refused the credentials of user ${JSON.stringify(sasl?.username ?? "")}`;
    case "UNSUPPORTED_SASL_MECHANISM":
      return `it does not support the mechanism ${sasl?.mechanism ?? "SASL"}; KAFKA_SASL sets another one`;
    case "ILLEGAL_SASL_STATE":
      return "it accepts no credentials at this address; unset KAFKA_SASL, or set another address in KAFKA_BROKERS";
    case "KafkaJSConnectionClosedError": {
      const lacking = [...(tls ? [] : ["TLS (KAFKA_TLS)"]), ...(sasl ? [] : ["credentials (KAFKA_SASL)"])];
      return `it closed the connection${lacking.length > 0 ? `; it may require ${lacking.join(" or ")}` : ""}`;
    }
    default: {
      if (tls && /before secure TLS connection|wrong version number/.test(reason))
        return "it closed the connection during the TLS handshake; it may not use TLS (KAFKA_TLS)";
      return certificateFault(reason, "KAFKA_CA_FILE") ?? reason;
    }
  }
}
