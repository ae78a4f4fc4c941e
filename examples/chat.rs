//! Two containers on their own threads that talk: a teller has words to say, one each tick of a timer, and a listener
//! answers. When the teller has heard all answers it asks the manager to shut down, and the program ends.
//!
//!     cargo run --example chat

use std::time::Duration;

use ecs::{BoxError, prelude::*};

const WORDS: [&str; 4] = ["hello", "how are you", "nice weather", "bye"];

fn send(cx: &Context<'_>, container: &str, system: &str, text: &str) -> SystemResult {
    let manager = cx.manager().ok_or("who talks needs a manager")?;
    let destination = json!({ "container": container, "system": system });
    manager.message_submit(json!({ "destination": destination, "text": text }))?;
    Ok(())
}

/// Says one word each time its timer fires, and listens to what comes back.
#[derive(Default)]
struct Teller {
    said: usize,
    heard: usize,
}

impl Teller {
    fn say(&mut self, cx: &mut Context<'_>) -> SystemResult {
        if let Some(word) = WORDS.get(self.said) {
            self.said += 1;
            send(cx, "cellar", "listener", word)?;
        }
        Ok(())
    }
}

impl System for Teller {
    fn update(&mut self, cx: &mut Context<'_>) -> SystemResult {
        while let Some(answer) = cx.this.next_message() {
            self.heard += 1;
            cx.log(format!("heard {}", answer["text"]));
        }
        if self.heard == WORDS.len() {
            // From container code this is a request: the pass goes on, and each container ends after its own.
            cx.manager().ok_or("a teller needs a manager")?.shutdown();
        }
        Ok(())
    }
}

/// Answers, and says goodbye when it is shut down.
#[derive(Default)]
struct Listener {
    heard: Vec<String>,
}

impl System for Listener {
    fn update(&mut self, cx: &mut Context<'_>) -> SystemResult {
        while let Some(message) = cx.this.next_message() {
            let text = message["text"].as_str().unwrap_or_default();
            self.heard.push(text.to_owned());
            send(cx, "attic", "teller", &text.to_uppercase())?;
        }
        Ok(())
    }

    fn shutdown(&mut self, cx: &mut Context<'_>) -> SystemResult {
        cx.log("goodbye");
        Ok(())
    }
}

fn main() -> Result<(), BoxError> {
    let tick = Duration::from_millis(5);
    let manager = Manager::new();
    let (attic, cellar) = (manager.container("attic")?, manager.container("cellar")?);

    cellar.start_with(tick)?;
    // The cellar runs on its own thread: what is to change there is handed over.
    let listener = Listener::default().named("listener").every_pass();
    let ready = cellar.defer_ticket(move |cx| Ok(cx.add_system(listener)?.handle));
    println!("[info] {} is there", ready.wait()?);

    let teller = Teller::default().named("teller").every_pass();
    let mut claim = attic.claim()?;
    claim.add_system(teller.timer_every("say", tick * 2, Teller::say))?;
    claim.start_with(tick)?;

    while manager.is_running() {
        std::thread::sleep(tick);
    }
    manager.shutdown(); // waits for both threads; it was only requested before
    let (mut attic, mut cellar) = (attic.claim()?, cellar.claim()?);
    assert_eq!(attic.system::<Teller>("teller").map(|it| it.heard), Some(4));
    let heard = cellar.system("listener").map(|it: &Listener| &it.heard[..]);
    assert_eq!(heard, Some(&WORDS.map(String::from)[..]));
    println!("[info] {} words said and answered", WORDS.len());
    Ok(())
}
