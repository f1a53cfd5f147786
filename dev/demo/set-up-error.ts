/** Something that the demo needs could not be started; the message says what and what to do, no stack is needed. */
export class SetUpError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'SetUpError';
  }
}
