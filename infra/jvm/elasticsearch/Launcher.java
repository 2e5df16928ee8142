import java.lang.reflect.Method;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import org.elasticsearch.common.logging.LogConfigurator;
import org.elasticsearch.common.settings.Settings;
import org.elasticsearch.env.Environment;
import org.elasticsearch.node.InternalSettingsPreparer;
import org.elasticsearch.node.Node;
import org.elasticsearch.plugins.PluginBundle;
import org.elasticsearch.plugins.PluginsLoader;

/**
 * Runs one Elasticsearch node from the jars of Maven Central, without its distribution. Arguments:
 * the home folder (with modules/transport-netty4/) and the folder of elasticsearch.yml. Logs go to
 * the standard output.
 */
final class Launcher {
  public static void main(String[] arguments) throws Exception {
    LogConfigurator.configureESLogging();
    LogConfigurator.configureWithoutConfig(Settings.builder().put("logger.level", "INFO").build());

    Settings home = Settings.builder().put("path.home", arguments[0]).build();
    Environment environment =
        InternalSettingsPreparer.prepareEnvironment(home, Map.of(), Path.of(arguments[1]), () -> "local");
    PluginsLoader plugins =
        PluginsLoader.createPluginsLoader(
            modulesIn(environment.modulesDir()), Set.of(), Map.of());

    Node node = new Node(environment, plugins);
    CountDownLatch closed = new CountDownLatch(1);
    Runtime.getRuntime().addShutdownHook(new Thread(() -> {
      try {
        node.close();
      } catch (Exception failure) {
        failure.printStackTrace();
      }
      closed.countDown();
    }));
    // The node's threads are daemons, so this wait keeps the process alive.
    node.start();
    closed.await();
  }

  /** Loads the modules. From release 9 on the method has a second parameter. */
  @SuppressWarnings("unchecked")
  private static Set<PluginBundle> modulesIn(Path folder) throws Exception {
    Method load =
        Arrays.stream(PluginsLoader.class.getMethods())
            .filter(method -> method.getName().equals("loadModulesBundles"))
            .findFirst()
            .orElseThrow();
    Object[] arguments = load.getParameterCount() == 1 ? new Object[] {folder} : new Object[] {folder, false};
    return (Set<PluginBundle>) load.invoke(null, arguments);
  }
}
