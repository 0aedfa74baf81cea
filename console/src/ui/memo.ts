// A component that is drawn again only when one of its properties is another value: for long lists.
import { Component, h, type ComponentType, type FunctionComponent } from "preact";

export function memo<P extends object>(inner: FunctionComponent<P>): ComponentType<P> {
  return class Memo extends Component<P> {
    override shouldComponentUpdate(next: Readonly<P>): boolean {
      const names = new Set([...Object.keys(this.props), ...Object.keys(next)]);
      for (const name of names)
        if (
          (this.props as Record<string, unknown>)[name] !== (next as Record<string, unknown>)[name]
        )
          return true;
      return false;
    }
    render() {
      return h(inner as ComponentType<object>, this.props as object);
    }
  };
}
