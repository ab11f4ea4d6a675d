declare module "plotly.js-cartesian-dist-min" {
  const Plotly: {
    purge(element: HTMLElement): void;
    relayout(element: HTMLElement, change: object): Promise<unknown>;
    restyle(element: HTMLElement, change: object, traces?: number[]): Promise<unknown>;
    toImage(element: HTMLElement, options: { format: "svg"; width: number; height: number }): Promise<string>;
    react(element: HTMLElement, data: object[], layout: object, config?: object): Promise<unknown>;
  };
  export default Plotly;
}
