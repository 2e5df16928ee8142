import { useEffect } from "preact/hooks";

type Ref = { readonly current: HTMLElement | null };

/** Closes a floating element on Escape, on a press outside, and when the focus leaves it. */
export function useDismissal(root: Ref, close: (returnsFocus?: boolean) => void, button?: Ref): void {
  useEffect(() => {
    const isOutside = (target: EventTarget | null) =>
      target instanceof Node && root.current?.contains(target) !== true && button?.current?.contains(target) !== true;
    const onPress = (event: Event) => {
      if (isOutside(event.target)) close(false);
    };
    const onFocus = (event: FocusEvent) => {
      if (isOutside(event.target)) close(false);
    };
    const onKey = (event: KeyboardEvent) => {
      if (event.key !== "Escape") return;
      // Only the innermost one closes.
      event.stopPropagation();
      close();
    };
    const element = root.current;
    document.addEventListener("pointerdown", onPress, true);
    document.addEventListener("focusin", onFocus);
    element?.addEventListener("keydown", onKey);
    return () => {
      document.removeEventListener("pointerdown", onPress, true);
      document.removeEventListener("focusin", onFocus);
      element?.removeEventListener("keydown", onKey);
    };
  }, []);
}
