package shop;

import org.slf4j.LoggerFactory;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;

@SpringBootApplication
public class Shop {
  public static void main(String[] words) {
    SpringApplication.run(Shop.class, words);
    LoggerFactory.getLogger("orders")
        .atError()
        .addKeyValue("order", 17)
        .setCause(new IllegalStateException("no stock"))
        .log("Order {} failed", 17);
  }
}
